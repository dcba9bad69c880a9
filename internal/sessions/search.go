package sessions

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/postgres"
)

// The expression is that of the index.
const sqlSearch = sqlSession + `
where ($1::uuid[] is null or s.team_id = any($1)) and (left(s.task, 200) ilike $2 or $3 <% left(s.task, 200))
order by s.id desc limit $4`

// Search finds the actor's sessions, newest first, by words at the beginning of
// their task: what contains the words as they are, and what has words that are
// written nearly the same.
func (s *Store) Search(ctx context.Context, actor auth.Actor, words string, limit int) ([]Session, error) {
	rows, _ := s.db.Query(ctx, sqlSearch, actor.Teams(auth.ReadSession), postgres.Containing(words), words, limit)
	list, err := pgx.CollectRows(rows, scanSession)
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("search sessions: %w", err), "")
	}
	return list, nil
}

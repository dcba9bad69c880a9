package escalation

import (
	"context"
	"strconv"
	"strings"

	"baton/internal/auth"
	"baton/internal/postgres"
)

const sqlTitled = `
where ($1::uuid[] is null or e.team_id = any($1)) and ($2 = '' or e.agent_slug = $2)
  and (e.title ilike $3 or $4 <% e.title or e.number = $5)
`

const sqlSearch = sqlEscalation + sqlTitled + `order by e.id desc limit $6`

// Search finds questions in the actor's teams, newest first, by words of their
// title or by their number (42, ESC-42). Words that are written nearly the same
// are found, too.
func (s *Store) Search(ctx context.Context, actor auth.Actor, words string, limit int) ([]Escalation, error) {
	rows, _ := s.db.Query(ctx, sqlSearch, actor.Teams(auth.ReadEscalation), actor.Agent, postgres.Containing(words), words, numberIn(words), limit)
	return collect(rows)
}

const sqlSearchDecisions = sqlDecision + `join escalations e on e.id = d.escalation_id` + sqlTitled + `order by d.id desc limit $6`

// SearchDecisions finds decisions in the actor's teams, newest first, by words
// of the title of what was decided, or by its number.
func (s *Store) SearchDecisions(ctx context.Context, actor auth.Actor, words string, limit int) ([]Decision, error) {
	rows, _ := s.db.Query(ctx, sqlSearchDecisions, actor.Teams(auth.ReadDecision), actor.Agent, postgres.Containing(words), words, numberIn(words), limit)
	return collectDecisions(rows)
}

// numberIn is the question's number that words are; 0, which none has, for
// others.
func numberIn(words string) int64 {
	digits := strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(words), "ESC-"), "#")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

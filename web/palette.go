package web

import (
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"baton/internal/clean"
	"baton/internal/escalation"
	"baton/templates"
)

const (
	findsMost = 5   // of each kind
	wordsMost = 200 // characters that are searched for
	wordsMin  = 2   // with fewer nearly everything is found
	hereMost  = 99
)

// palette finds what the reader may see by a few words of its title: the
// sections, questions, sessions and decisions. A script asks for the finds
// alone, and says how many it has itself.
func (s *site) palette(c echo.Context) error {
	p := templates.PalettePage{Query: strings.TrimSpace(cut(clean.Line(c.QueryParam("q")), wordsMost))}
	if here, err := strconv.Atoi(c.QueryParam("here")); err == nil {
		p.Here = min(max(here, 0), hereMost)
	}
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	add := func(g templates.PaletteGroup) {
		if len(g.Finds) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
	add(r.findSections(p.Query))
	if utf8.RuneCountInString(p.Query) >= wordsMin {
		for _, find := range []func(reader, string) (templates.PaletteGroup, error){s.findQuestions, s.findSessions, s.findDecisions} {
			g, err := find(r, p.Query)
			if err != nil {
				return err
			}
			add(g)
		}
	}
	if c.QueryParam("part") != "" {
		return page(c, http.StatusOK, templates.Finds(p))
	}
	p.Frame = s.frame(c, "", word(c, "palette.title"))
	return page(c, http.StatusOK, templates.Palette(p))
}

// findSections are the sections with the words in their name; without words all.
func (r reader) findSections(words string) templates.PaletteGroup {
	all := templates.GoTo(r.ctx, templates.Sections())
	found := templates.PaletteGroup{Title: all.Title}
	for _, f := range all.Finds {
		if strings.Contains(strings.ToLower(f.Title), strings.ToLower(words)) {
			found.Finds = append(found.Finds, f)
		}
	}
	return found
}

func (s *site) findQuestions(r reader, words string) (g templates.PaletteGroup, err error) {
	list, err := s.Escalations.Search(r.ctx, r.actor, words, findsMost)
	g.Title = r.say("inbox.queue")
	for _, e := range list {
		item := r.item(e, e.ID)
		if e.Status != escalation.Pending {
			item.Note, item.Icon = r.note(e)
		}
		icon, tone := item.Mark()
		g.Finds = append(g.Finds, templates.Find{URL: item.URL, Icon: icon, Tone: tone, Title: item.Title, Detail: detail(e.DisplayNumber(), item.Agent, item.Note)})
	}
	return g, err
}

func (s *site) findSessions(r reader, words string) (g templates.PaletteGroup, err error) {
	list, err := s.Sessions.Search(r.ctx, r.actor, words, findsMost)
	g.Title = r.say("nav.sessions")
	for _, v := range list {
		state := r.sessionState(v)
		g.Finds = append(g.Finds, templates.Find{URL: templates.SessionURL(v.ID.String()), Icon: state.Icon, Tone: "is-" + state.Tone,
			Title: firstLine(v.Task, titleMost), Detail: detail(r.agent(v.Agent.Slug), state.Text)})
	}
	return g, err
}

func (s *site) findDecisions(r reader, words string) (g templates.PaletteGroup, err error) {
	list, err := s.Escalations.SearchDecisions(r.ctx, r.actor, words, findsMost)
	g.Title = r.say("nav.decisions")
	for _, d := range list {
		row := r.decisionRow(d)
		g.Finds = append(g.Finds, templates.Find{URL: row.URL, Icon: "history", Title: row.Title, Detail: detail(row.Letter, row.Label, row.Who)})
	}
	return g, err
}

// detail is what stands behind a title, as far as there is any.
func detail(parts ...string) string {
	var there []string
	for _, p := range parts {
		if p != "" {
			there = append(there, p)
		}
	}
	return strings.Join(there, " · ")
}

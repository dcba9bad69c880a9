package definition

import (
	"go.yaml.in/yaml/v3"

	"baton/internal/tools"
)

// Statement is one change of a data source that an operator has written: a model
// chooses the values, never the SQL.
type Statement struct {
	Name        string
	Words       map[string]tools.Words
	Description string
	SQL         string // with @name for each parameter; of money, @name_value and @name_currency
	Verify      string // a SELECT of one true or false: whether it has happened; empty if nothing tells
	Params      []Param
	Effect      tools.Effect
	MaxRows     int64 // with more it changes nothing
	ReasonCodes []string
	Claims      []string
}

func (r *reader) statement(n *yaml.Node, path string) (s Statement) {
	s.Effect, s.MaxRows = tools.EffectSide, 1
	seen := r.mapping(n, path, map[string]read{
		"words":       func(n *yaml.Node, path string) { s.Words = named(r, n, path, r.wordsIn) },
		"description": r.text(&s.Description, 2000),
		"sql":         r.text(&s.SQL, 20_000), "verify": r.text(&s.Verify, 20_000),
		"params": func(n *yaml.Node, path string) { s.Params = r.params(n, path, named(r, n, path, r.param)) },
		"effect": oneOf(r, &s.Effect, effects[1:]...), "max_rows": r.whole(&s.MaxRows, 1, 1_000_000),
		"reason_codes": r.names(&s.ReasonCodes, reasonForm, "small letters, digits and underscores, such as over_limit"),
		"claims":       r.list(20, r.append(&s.Claims, 40)),
	})
	r.required(n, path, seen, "words", "description", "sql")
	r.checkWords(n, path+".words", s.Words, s.Params)
	for _, p := range s.Params {
		if p.Many {
			r.refuse(n, path+".params."+p.Name, Fault{Reason: "a statement takes no lists"})
		}
	}
	return s
}

// append reads a text into a list.
func (r *reader) append(dst *[]string, maxLen int) read {
	return func(n *yaml.Node, path string) {
		var s string
		r.text(&s, maxLen)(n, path)
		*dst = append(*dst, s)
	}
}

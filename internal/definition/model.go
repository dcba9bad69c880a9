package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// scriptedProvider is the provider whose models are the agents' own playbooks.
const scriptedProvider = "scripted"

// The providers of real models, which the installation has an account with.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
)

// Providers are the model providers of this build. A provider is named here in
// the commit that brings it, so that nobody can set up an agent whose sessions
// would only fail.
func Providers() []string { return []string{scriptedProvider, Anthropic, OpenAI} }

var modelForm = regexp.MustCompile(`^([a-z][a-z0-9-]{0,30})/[^\s/][^\s]{0,127}$`)

// ValidModel says whether a text names a model as agents do, provider/model, of
// a provider that is there.
func ValidModel(model string) bool {
	m := modelForm.FindStringSubmatch(model)
	return m != nil && slices.Contains(Providers(), m[1]) && !strings.ContainsFunc(model, unicode.IsControl)
}

// model reads the name of a model. One of a provider that isn't there is
// refused here, not when the first session fails.
func (r *reader) model(dst *string) read {
	next := r.matching(dst, modelForm, "provider/model, such as scripted/refunds")
	return func(n *yaml.Node, path string) {
		before := len(r.faults)
		next(n, path)
		if len(r.faults) > before || ValidModel(n.Value) {
			return
		}
		provider, _, _ := strings.Cut(n.Value, "/")
		f := Fault{Reason: fmt.Sprintf("this build has no models of %s", provider), Nearest: nearest(provider, Providers())}
		if f.Nearest == "" {
			f.Reason += "; it has those of " + listed(Providers())
		}
		r.refuse(n, path, f)
	}
}

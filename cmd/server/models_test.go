package main

import (
	"strings"
	"testing"

	"baton/internal/definition"
)

// An agent can be given a model of each provider that definitions may name, and
// of no other.
// R: D (appendix)
func TestEachProviderThatADefinitionMayNameIsThere(t *testing.T) {
	t.Parallel()
	version := definition.Version{Slug: "desk", Number: 1, Playbook: "def reply(s):\n    return [finish(\"Done.\")]\n"}
	for _, provider := range append(definition.Providers(), "openai", "anthropic", "nobody") {
		_, err := new(models).model(version, provider+"/x")
		there := err == nil || !strings.Contains(err.Error(), "there is no model provider")
		if there != definition.ValidModel(provider+"/x") {
			t.Errorf("%s: definitions say %v, the models say %v", provider, definition.ValidModel(provider+"/x"), err)
		}
	}
}

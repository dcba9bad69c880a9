package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/llm/anthropic"
	"baton/internal/llm/openai"
	"baton/internal/llm/provider"
	"baton/internal/problem"
)

// checkWithin bounds how long the doctor waits for a provider.
const checkWithin = 15 * time.Second

// mostExamined bounds how many agents the doctor looks at.
const mostExamined = 1000

// examineModels asks each provider that is set up for something small.
func examineModels(cmd *cobra.Command) (findings []finding) {
	c, _, err := wholeConfig(cmd)
	if err != nil {
		return nil // said already
	}
	for _, name := range []string{definition.Anthropic, definition.OpenAI} {
		if !c.hasProvider(name) {
			continue
		}
		o := provider.Options{BaseURL: c.providerURL(name), Key: c.values[name+"_api_key"], Whole: checkWithin}
		findings = append(findings, finding{subject: "models of " + name, detail: from(o.BaseURL), err: examineProvider(cmd.Context(), name, o)})
	}
	return findings
}

// examinePrices names the models of agents whose price isn't known: what they
// cost is counted as 0.
func examinePrices(ctx context.Context, pool *pgxpool.Pool, installation definition.Installation) (findings []finding) {
	known := installation.Known(nil)
	agents, err := definition.NewStore(pool, known, nil).List(ctx, auth.CLI(""), "", mostExamined)
	if err != nil {
		return []finding{{subject: "prices", err: err}}
	}
	named := map[string]bool{}
	for _, a := range agents {
		if definition.Scripted(a.Model) || slices.Contains(known.Priced, a.Model) || named[a.Model] {
			continue
		}
		named[a.Model] = true
		findings = append(findings, finding{subject: "price of " + a.Model, detail: ": not in baton.yaml, so what it costs is counted as 0"})
	}
	return findings
}

// providerURL is where a provider's models are asked.
func (c config) providerURL(name string) string {
	if url := c.values[name+"_base_url"]; url != "" {
		return url
	}
	return map[string]string{definition.Anthropic: anthropic.BaseURL, definition.OpenAI: openai.BaseURL}[name]
}

func examineProvider(ctx context.Context, name string, o provider.Options) error {
	s, err := openService(name, o)
	if err == nil {
		err = s.Check(ctx)
	}
	e := llm.AsError(err)
	if e == nil {
		return nil
	}
	params := problem.Params{"provider": name, "url": o.BaseURL, "said": e.Error(), "setting": strings.ToUpper(name)}
	if e.Status == 401 || e.Status == 403 {
		return problem.New(problem.Unavailable, "model_key_refused", params)
	}
	return problem.New(problem.Unavailable, "model_unreachable", params)
}

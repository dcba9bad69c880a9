package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/postgres"
	"baton/internal/postgres/embedded"
	"baton/internal/postgres/migrate"
	"baton/internal/problem"
	"baton/internal/process"
	"baton/internal/tools/breaker"
	"baton/internal/tools/builtin"
)

func doctorCommand() *cobra.Command {
	noModels := false
	cmd := &cobra.Command{
		Use: "doctor", Short: "Say what is missing on this machine and how to mend it", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := examine(cmd)
			if !noModels {
				findings = append(findings, examineModels(cmd)...)
			}
			unwell := false
			for _, f := range findings {
				mark := "ok  "
				switch {
				case f.err != nil:
					mark, unwell = "MEND", true
				case f.note:
					mark = "note"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %s%s\n", mark, f.subject, f.detail)
				if f.err != nil {
					explain(cmd.OutOrStdout(), f.err)
				}
			}
			if unwell {
				return problem.New(problem.Unavailable, "doctor_found", nil)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&noModels, "no-models", false, "don't ask the providers of models whether they answer")
	return cmd
}

type finding struct {
	subject, detail string
	note            bool // what is missing is needed by some only
	err             error
}

// examine looks and changes nothing: it starts no database.
func examine(cmd *cobra.Command) []finding {
	c, installation, err := wholeConfig(cmd)
	findings := []finding{{subject: "configuration", detail: from(c.file), err: err}}
	if err != nil {
		return findings
	}
	findings = append(findings, examineSandbox())
	findings = append(findings, examineSources(cmd.Context(), installation.DataSources)...)
	if url := c.databaseURL(); url != "" {
		return append(findings, examineDatabase(cmd.Context(), "database", url, installation)...)
	}
	bin, err := embedded.Binaries()
	findings = append(findings, finding{subject: "Postgres programs", detail: from(bin), err: err})
	findings = append(findings, finding{subject: "data directory", detail: from(c.dataDir()), err: writable(c.dataDir())})
	for _, at := range []struct{ what, dir string }{{"server", c.dataDir()}, {"demo", demoDir(c)}} {
		if run, running := embedded.Owner(at.dir); running {
			findings = append(findings, examineDatabase(cmd.Context(), fmt.Sprintf("running %s (process %d, %s)", at.what, run.PID, run.Addr), run.DatabaseURL, installation)...)
		}
	}
	return findings
}

// examineSandbox says whether the tool shell can run anything here.
func examineSandbox() finding {
	f := finding{subject: "sandbox", detail: fmt.Sprintf(": bubblewrap; programs are held together by a %s", process.Held())}
	if _, err := builtin.FindSandbox(); err != nil {
		f.detail, f.note = fmt.Sprintf(": none, so the tool shell refuses to run commands (%s)", err), true
	}
	return f
}

func from(place string) string {
	if place == "" {
		return ""
	}
	return ": " + place
}

func examineDatabase(ctx context.Context, subject, url string, installation definition.Installation) []finding {
	pool, err := postgres.Open(ctx, url, 2)
	if err != nil {
		return []finding{{subject: subject, err: err}}
	}
	defer pool.Close()
	status, err := migrate.Read(ctx, pool)
	detail := fmt.Sprintf(": %d of %d", status.Current, status.Wanted)
	if err == nil && !status.UpToDate() {
		detail += ", the next start applies the rest"
	}
	findings := []finding{{subject: subject}, {subject: "schema", detail: detail, err: err}}
	if err != nil || !status.UpToDate() {
		return findings
	}
	findings = append(findings, examinePrices(ctx, pool, installation)...)
	return append(findings, examineServices(ctx, pool)...)
}

// examineServices names the services that calls are kept away from.
func examineServices(ctx context.Context, pool *pgxpool.Pool) (findings []finding) {
	list, err := breaker.New(pool, slog.Default()).List(ctx, auth.CLI(""))
	if err != nil {
		return []finding{{subject: "services", err: err}}
	}
	for _, b := range list {
		if b.Open(time.Now()) {
			findings = append(findings, finding{subject: "service " + b.Service, err: problem.New(problem.Unavailable, "service_failing",
				problem.Params{"service": b.Service, "tool": b.Tool, "n": b.Failures, "reason": b.Reason})})
		}
	}
	return findings
}

// writable tries to make a file in the nearest folder that exists.
func writable(dir string) error {
	at := dir
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return problem.New(problem.Unavailable, "data_dir_unwritable", problem.Params{"dir": dir})
		}
		if err == nil {
			break
		}
		if at == filepath.Dir(at) {
			return problem.Wrap(err, problem.Unavailable, "data_dir_unwritable", problem.Params{"dir": dir})
		}
		at = filepath.Dir(at)
	}
	probe, err := os.CreateTemp(at, ".baton-probe-*")
	if err != nil {
		return problem.Wrap(err, problem.Unavailable, "data_dir_unwritable", problem.Params{"dir": dir})
	}
	probe.Close()
	return os.Remove(probe.Name())
}

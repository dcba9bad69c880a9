package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configFile writes a baton.yaml and returns the variable that names it.
func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "baton.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "BATON_CONFIG=" + file
}

// R: G4
func TestAllFaultsOfTheConfigurationAreSaidAtOnce(t *testing.T) {
	t.Parallel()
	env := []string{configFile(t, "adr: 127.0.0.1:1\nlog_level: loud\ndata_sources: {shop: {}}\nhosts: {x: {adress: \"a:1\"}}\n"), "BATON_DATA_DIR=" + t.TempDir()}
	for _, command := range []string{"serve", "config", "doctor"} {
		_, stdout, stderr := try(t, env, command)
		for _, part := range []string{"adr", "log_level", "the key url is missing", "adress", "did you mean address?"} {
			if said := stdout + stderr; !strings.Contains(said, part) {
				t.Errorf("server %s doesn't say %q:\n%s", command, part, said)
			}
		}
		if said := stdout + stderr; strings.Contains(said, "Cause:") {
			t.Errorf("server %s says things twice:\n%s", command, said)
		}
	}
}

// R: G4
func TestAVariableThatIsNoSettingIsSaidSo(t *testing.T) {
	t.Parallel()
	_, _, stderr := try(t, []string{"BATON_ADRR=127.0.0.1:1", "BATON_SHOP_URL=postgres://x", "BATON_TEST_X=1",
		configFile(t, "data_sources: {shop: {url: \"${BATON_SHOP_URL}\"}}\n")}, "config")
	if !strings.Contains(stderr, "BATON_ADRR is set, but there is no such setting. Did you mean BATON_ADDR?") || strings.Contains(stderr, "SHOP") || strings.Contains(stderr, "TEST") {
		t.Errorf("says %q", stderr)
	}
}

// R: G4
func TestAFileThatIsNotThereIsSaidSoOnce(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none.yaml")
	code, _, stderr := try(t, nil, "config", "--config", missing)
	if code != 1 || strings.Count(stderr, missing) != 1 || !strings.Contains(stderr, "is not there") || !strings.Contains(stderr, "--config") || strings.Contains(stderr, "Cause:") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// A command that goes by what exists makes no installation where there is none;
// one that adds something says that it does.
// R: I5, G1
func TestACommandMakesNoInstallationInSilence(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	env := []string{"BATON_DATA_DIR=" + dir}
	readers := [][]string{{"agent", "list"}, {"session", "show", "ses_" + strings.Repeat("0", 32)}, {"session", "start", "--agent", "a", "--task", "x"},
		{"user", "link", "ana"}, {"secret", "list"}}
	refused := func(says string) {
		t.Helper()
		for _, args := range readers {
			if code, _, stderr := try(t, env, args...); code != 1 || !strings.Contains(stderr, says) || strings.Contains(stderr, "Cause:") {
				t.Errorf("server %s: exit %d, %s", strings.Join(args, " "), code, stderr)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			t.Fatal("an installation was made")
		}
	}
	refused("no installation in " + dir + " yet")
	// A demo that is stopped beside it.
	if err := os.MkdirAll(filepath.Join(dir, "demo", "postgres"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "demo", "postgres", "PG_VERSION"), []byte("17\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused("its demo is stopped")
	if code, out, stderr := try(t, env, "config"); code != 0 || !strings.Contains(out, "where nothing is yet") {
		t.Errorf("config: exit %d, %s%s", code, out, stderr)
	}

	code, _, stderr := try(t, env, "user", "add", "ana", "--role", "admin")
	if code != 0 || !strings.Contains(stderr, "Making a new installation in "+dir) || !strings.Contains(stderr, "demo beside it") {
		t.Errorf("user add: exit %d, %s", code, stderr)
	}
	if code, _, stderr := try(t, env, "agent", "list"); code != 0 || strings.Contains(stderr, "Making") {
		t.Errorf("agent list, then: exit %d, %s", code, stderr)
	}
	if code, out, _ := try(t, env, "config"); code != 0 || !strings.Contains(out, "file "+filepath.Join(dir, "secret.key")) || !strings.Contains(out, "no server runs there") {
		t.Errorf("config, then: %s", out)
	}
	if code, _, stderr := try(t, env, "session", "show", "ses_"+strings.Repeat("0", 32)); code != 1 || strings.Contains(stderr, "Cause:") || strings.Contains(stderr, "no rows") {
		t.Errorf("a session that isn't there: exit %d, %s", code, stderr)
	}
}

package embedded

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"baton/internal/problem"
)

// Binaries finds a folder that holds initdb and postgres: $BATON_PG_BIN, else
// the newest below the places where packages put them, else PATH. The error is
// the problem postgres_missing.
func Binaries() (string, error) {
	if dir := os.Getenv("BATON_PG_BIN"); dir != "" {
		if complete(dir) {
			return dir, nil
		}
		return "", missing(fmt.Errorf("BATON_PG_BIN is %s, which holds no initdb and postgres", dir))
	}
	var found []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
		"/usr/pgsql-*/bin",                  // Red Hat
		"/opt/homebrew/opt/postgresql*/bin", // macOS
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		dirs, _ := filepath.Glob(pattern) // the patterns are well-formed
		found = append(found, dirs...)
	}
	found = slices.DeleteFunc(found, func(dir string) bool { return !complete(dir) })
	if len(found) > 0 {
		return slices.MaxFunc(found, func(a, b string) int { return major(a) - major(b) }), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && complete(filepath.Dir(path)) {
			return filepath.Dir(path), nil
		}
	}
	return "", missing(fmt.Errorf("no folder with initdb and postgres on PATH or in the usual places"))
}

func missing(cause error) error {
	install := "apt-get install postgresql"
	if runtime.GOOS == "darwin" {
		install = "brew install postgresql@17"
	}
	return problem.Wrap(cause, problem.Unavailable, "postgres_missing", problem.Params{"install": install})
}

func complete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// major is the version number in a folder's path, 0 if there is none.
func major(dir string) int {
	digits := strings.FieldsFunc(dir, func(r rune) bool { return r < '0' || r > '9' })
	for _, d := range digits {
		if n, err := strconv.Atoi(d); err == nil {
			return n
		}
	}
	return 0
}

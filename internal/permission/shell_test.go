package permission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"baton/internal/permission"
)

func shellCall(command string) permission.Call {
	args, _ := json.Marshal(map[string]string{"command": command}) // a text always marshals
	return permission.Call{Tool: "shell", Args: args, Writes: true}
}

func shellRule(do permission.Verb, commands ...any) permission.Policy {
	return permission.Policy{Mode: permission.AskFirst, Rules: []permission.Rule{{Tool: "shell", When: map[string]any{"command": map[string]any{"runs": commands}}, Do: do}}}
}

// R: A6
// case: harness A21
func TestAllowedCommandsAreJudgedByTheirParsedForm(t *testing.T) {
	t.Parallel()
	p := shellRule(permission.Allow, "ls", "cat", "git status", "git log *", "test -f *.go", "true")
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"ls", "ls -la /tmp", "ls; cat x", "ls && cat 'a b' || true", "ls | cat", "ls\ncat x\n", `"ls" "a b"`, "ls 2>&1 >/dev/null", "ls # rm x", "! ls", "ls *.go", "ls 'a;rm b'", `ls "&& rm"`,
		"git status", "git log", "git log -p --all", "test -f main.go", "ls {a,b}", "ls \\\n  -l",
	} {
		if got := p.Decide(shellCall(command)); got.Do != permission.Allow {
			t.Errorf("%q: %+v", command, got)
		}
	}
	for _, command := range []string{
		"ls && rm x", "ls $(rm x)", "ls > f", "FOO=1 ls; rm x", // the report's own
		"FOO=1 ls", "FOO=1", "ls `rm x`", "ls \"$(rm x)\"", "ls \"`rm x`\"", "ls <(rm x)", "ls >(rm x)", "ls >> f", "ls >| f", "ls < f", "ls <> f", "ls <<EOF\nx\nEOF", "ls <<< x", "ls &> f", "ls >& f", "ls 3>f", "ls 2>f",
		"ls & rm x", "ls &", "ls; rm x", "ls\nrm x", "ls || rm x", "ls | sh", "ls |& rm", "ls\rrm x", "lsx", "/bin/ls", "./ls", `\ls`, `l\s`, "l's'x", "$LS", "$(echo ls)", "${x:-ls}", "ls $HOME", "ls ${x@P}", `ls "$x"`, "ls $((1))", `$'ls'`, `ls $'a'`, `$"ls"`,
		"(rm x)", "{ rm x; }", "ls() { rm x; }; ls", "function ls { rm x; }", "if ls; then rm x; fi", "for i in a; do rm x; done", "while ls; do rm x; done", "case x in *) rm x;; esac", "[[ -f x ]]", "((1))", "time rm x", "coproc ls", "let x=1", "declare x=1", "export A=1", "alias ls=rm", "eval rm", "exec ls",
		"", " ", "# ls", "ls '", "ls )", "ls \"", "git", "git status -s", "git push", "git logs", "test -f x.go y.go", "test -d x.go", "{ls,x}", "ls\u00a0x; rm", "LS", "ｌｓ", "sudo ls", "env ls", "ls\x00rm", strings.Repeat("ls;", 30000),
	} {
		if got := p.Decide(shellCall(command)); got.Do != permission.Ask || got.Rule != 0 {
			t.Errorf("%q: %+v", command, got)
		}
	}
	if got := p.Decide(permission.Call{Tool: "shell", Args: json.RawMessage(`{"command":7}`), Writes: true}); got.Do != permission.Ask {
		t.Errorf("a number: %+v", got)
	}
}

// R: A6
// case: harness A21
func TestDeniedCommandsAreFoundWhereverTheyStand(t *testing.T) {
	t.Parallel()
	p := shellRule(permission.Deny, "rm", "git push")
	p.Mode = permission.Auto
	for _, command := range []string{"rm x", "ls && rm x", "/bin/rm x", "ls $(rm x)", "FOO=1 rm x", "sudo rm x", "xargs rm", "sh -c 'rm x'", "echo cm0geAo= | base64 -d | sh", `r\m x`, `"rm" x`, "r''m x", "$X y", "if true; then rm x; fi", "f() { rm x; }", "eval x", "ls '", "RM x", "git push"} {
		if got := p.Decide(shellCall(command)); got.Do != permission.Deny {
			t.Errorf("%q: %+v", command, got)
		}
	}
	for _, command := range []string{"ls", "echo form", "cat rmx", "ls | sort > rm-list.txt"} {
		if got := p.Decide(shellCall(command)); got.Do != permission.Allow {
			t.Errorf("%q: %+v", command, got)
		}
	}
}

// R: A6
func TestCommandsThatCantBeReadAreRefused(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, "", " ", 7, []any{}, []any{""}, []any{"ls", 7}, map[string]any{"a": "ls"}} {
		p := permission.Policy{Mode: permission.Auto, Rules: []permission.Rule{{Tool: "shell", When: map[string]any{"command": map[string]any{"runs": v}}, Do: permission.Allow}}}
		if p.Check() == nil {
			t.Errorf("%v was taken", v)
		}
		if got := p.Decide(permission.Call{Tool: "shell", Args: json.RawMessage(`{"command":"ls"}`), Writes: true, Irreversible: true}); got.Do != permission.Ask {
			t.Errorf("%v: %+v", v, got)
		}
	}
}

// What is allowed is one of the commands, whatever the text; and a rule that
// denies the same commands finds it, too.
// R: A6
// case: harness A21
func FuzzCommands(f *testing.F) {
	for _, s := range []string{"ls && rm x", "ls $(rm x)", "ls > f", "FOO=1 ls; rm x", "ls | cat", "ls 'a' \"b\" 2>&1", "ls <<EOF\nx\nEOF", "ls {a,b}", "((", "ls\\\n-l", "if ls; then cat; fi"} {
		f.Add(s)
	}
	allow, deny := shellRule(permission.Allow, "ls", "cat"), shellRule(permission.Deny, "ls", "cat")
	f.Fuzz(func(t *testing.T, command string) {
		if allow.Decide(shellCall(command)).Do != permission.Allow {
			return
		}
		if deny.Decide(shellCall(command)).Do != permission.Deny {
			t.Fatalf("%q is allowed, and a rule that denies the same doesn't see it", command)
		}
		if strings.ContainsAny(command, "`") && !strings.ContainsAny(command, "'#\"") || strings.Contains(command, "$(") && !strings.ContainsAny(command, "'#\"\\") {
			t.Fatalf("%q is allowed", command)
		}
	})
}

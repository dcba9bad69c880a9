package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"baton/internal/process"
	"baton/internal/tools"
)

//go:embed shell.md
var shellText string

// shellTimeout is how long a command may run.
const shellTimeout = 2 * time.Minute

const shellSchema = `{
  "type": "object",
  "properties": {
    "command": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "as it would be typed"}
  },
  "required": ["command"],
  "additionalProperties": false
}`

type shellArgs struct {
	Command string `json:"command"`
}

// Shell is the tool shell in the workspaces of an agent. Where this machine can't
// have a sandbox it runs nothing, and each call says why.
func Shell(workspaces *Workspaces) (tools.Tool, error) {
	return newShell(&shell{workspaces, FindSandbox})
}

func newShell(s *shell) (tools.Tool, error) {
	return tools.Func(tools.Spec{
		Name: "shell", Version: "1", Description: strings.TrimSpace(shellText),
		Words: map[string]tools.Words{
			"en":      {Title: "Run a command", Sentence: "Run the command {command}", Reversal: "It can change files of the agent's workspace and nothing else."},
			"zh-Hans": {Title: "运行命令", Sentence: "运行命令 {command}", Reversal: "它只能更改智能体工作区里的文件。"},
		},
		Schema: json.RawMessage(shellSchema), Example: json.RawMessage(`{"command":"sort -t, -k2 -n invoices.csv | tail -5"}`),
		Effect: tools.EffectSide, Timeout: shellTimeout, Deadline: shellTimeout,
		Format: tools.Format{MaxLines: 1000, MaxChars: 30000},
		Failures: []tools.DeclaredFailure{
			{Name: "exit_code", Type: tools.ExecutionError, When: "the command ends with an exit code other than 0"},
			{Name: "no_such_command", Type: tools.NotFound, When: "a program is not there (exit code 127)"},
			{Name: "slow", Type: tools.OutcomeUnknown, When: "the command runs longer than 2 minutes; all of it is ended"},
			{Name: "memory", Type: tools.ExecutionError, When: "its programs use more than 1 GiB together"},
			{Name: "no_sandbox", Type: tools.PermissionDenied, When: "this machine can't have a sandbox"},
		},
	}, s.run)
}

type shell struct {
	workspaces *Workspaces
	sandbox    func() (*Sandbox, error)
}

func (s *shell) run(ctx context.Context, a shellArgs) (tools.Output, error) {
	tools.NothingSent(ctx)
	if strings.ContainsRune(a.Command, 0) {
		return tools.Output{}, tools.Fail(tools.InvalidArguments, "The command holds a NUL character.", "Write it without.")
	}
	sandbox, err := s.sandbox()
	if err != nil {
		return tools.Output{}, noSandbox(err)
	}
	folder, err := s.workspaces.forWriting(ctx)
	if err != nil {
		return tools.Output{}, err
	}
	folder.close()
	dir := s.workspaces.path(ctx)
	if err := sandbox.canEnter(dir); err != nil {
		return tools.Output{}, noSandbox(err)
	}
	tools.Sending(ctx)
	exit, err := process.Run(ctx, sandbox.command(dir, a.Command, tools.Writer(ctx), tools.ErrorWriter(ctx)))
	switch {
	case err != nil:
		return tools.Output{}, err
	case exit.Stopped:
		return tools.Output{}, context.Cause(ctx)
	case exit.OverMemory:
		return tools.Output{}, tools.Fail(tools.ExecutionError, fmt.Sprintf("The command was ended, since its programs used more than %d MiB of memory.", sandboxMemory>>20),
			"Work on less at once, or in a stream.").With("exit_code", exit.Code)
	case !exit.OK():
		return tools.Output{}, tools.FromExitCode(exit.Code)
	}
	return tools.Output{}, nil
}

// noSandbox refuses to run a command without one.
func noSandbox(why error) error {
	f := tools.Fail(tools.PermissionDenied, fmt.Sprintf("The command was not run: this server has no sandbox for it (%s).", why),
		"Go on with the other tools.", "Report that an operator has to mend it if there is no other way.").Because(why)
	f.Causes = []string{"Commands run in a sandbox or not at all."}
	return f
}

package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"baton/internal/tools"
)

//go:embed edit_file.md
var editFileText string

const editFileSchema = `{
  "type": "object",
  "properties": {
    "edits": {
      "type": "array", "minItems": 1, "maxItems": 100,
      "items": {
        "type": "object",
        "properties": {
          "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "relative to the workspace"},
          "old_text": {"type": "string", "minLength": 1, "maxLength": 200000, "description": "exactly as it stands in the file"},
          "new_text": {"type": "string", "maxLength": 200000},
          "replace_all": {"type": "boolean", "description": "replace it wherever it stands; false by default"}
        },
        "required": ["path", "old_text", "new_text"],
        "additionalProperties": false
      }
    }
  },
  "required": ["edits"],
  "additionalProperties": false
}`

type editFileArgs struct {
	Edits []edit `json:"edits"`
}

type edit struct {
	Path       string `json:"path"`
	Old        string `json:"old_text"`
	New        string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all"`
}

// edited is what became of one edit.
type edited struct {
	Path     string `json:"path"`
	Replaced int    `json:"replaced"`
	Line     int    `json:"line"` // where the first one stands
}

// EditFile is the tool edit_file in the workspaces of an agent: a batch, of which
// each edit is made or not by itself.
func EditFile(workspaces *Workspaces) (tools.Tool, error) {
	e := &editFile{workspaces}
	spec := tools.Spec{
		Name: "edit_file", Version: "1", Description: strings.TrimSpace(editFileText),
		Words: map[string]tools.Words{
			"en":      {Title: "Edit files", Sentence: "Change {edits:passage|passages} in files", Reversal: "They are files in the agent's workspace, which nobody else uses."},
			"zh-Hans": {Title: "编辑文件", Sentence: "修改文件中的{edits:处|处}内容", Reversal: "这些是智能体工作区里的文件，只有它自己使用。"},
		},
		Schema: json.RawMessage(editFileSchema), Example: json.RawMessage(`{"edits":[{"path":"reports/2026-01.md","old_text":"status: open","new_text":"status: paid"}]}`),
		Effect: tools.EffectSide, ConcurrencyKey: func(json.RawMessage) string { return "edit files" }, Verify: e.verify,
		Claims: []string{"edited", "changed", "corrected", "已修改", "已更正"},
		Failures: append(writeFailures(),
			tools.DeclaredFailure{Name: "no_match", Type: tools.NotFound, When: "old_text does not stand in the file"},
			tools.DeclaredFailure{Name: "several_matches", Type: tools.Conflict, When: "old_text stands there more than once, and replace_all is not set"},
			tools.DeclaredFailure{Name: "no_such_file", Type: tools.NotFound, When: "the path does not exist"}),
	}
	return tools.Func(spec, e.run)
}

type editFile struct{ workspaces *Workspaces }

func (e *editFile) run(ctx context.Context, a editFileArgs) (tools.Output, error) {
	folder, err := e.workspaces.forWriting(ctx)
	if err != nil {
		return tools.Output{}, err
	}
	defer folder.close()
	if len(a.Edits) == 1 {
		done, err := folder.edit(a.Edits[0])
		if err != nil {
			return tools.Output{}, err
		}
		data, err := json.Marshal(done)
		return tools.Output{Data: data}, err
	}
	names := make([]string, 0, len(a.Edits))
	for i, one := range a.Edits {
		names = append(names, fmt.Sprintf("%d. %s", i+1, clipPath(one.Path)))
	}
	batch := tools.Report(ctx, names)
	for i, one := range a.Edits {
		if ctx.Err() != nil {
			return tools.Output{}, context.Cause(ctx)
		}
		batch.Begin(names[i])
		done, err := folder.edit(one)
		if err == nil {
			data, err := json.Marshal(done)
			if err != nil {
				return tools.Output{}, err
			}
			batch.Done(names[i], data)
			continue
		}
		failure := tools.Classify(err)
		batch.Fail(names[i], failure)
		if failure.Type == tools.Unavailable { // a full disk is full for the others, too
			for _, left := range names[i+1:] {
				batch.Skip(left, "Not tried, since it would fail in the same way. "+failure.Message)
			}
			break
		}
	}
	return tools.Output{}, nil
}

// edit makes one edit, or leaves the file as it is.
func (f *folder) edit(e edit) (edited, error) {
	name, err := f.inside(e.Path)
	if err != nil {
		return edited{}, err
	}
	text, err := f.text(e.Path, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = f.explain(e.Path, name, err)
	}
	if err != nil {
		return edited{}, err
	}
	n := bytes.Count(text, []byte(e.Old))
	switch {
	case e.Old == e.New:
		return edited{}, tools.Fail(tools.InvalidArguments, "old_text and new_text are the same.", "Say what is to stand there instead.")
	case n == 0:
		return edited{}, noMatch(e, text)
	case n > 1 && !e.ReplaceAll:
		return edited{}, severalMatches(e, text, n)
	case len(text)+n*(len(e.New)-len(e.Old)) > writeMost:
		return edited{}, tools.Fail(tools.InvalidArguments, fmt.Sprintf("The file would be longer than %d bytes.", writeMost), "Make it a shorter text.")
	}
	if err := f.replace(e.Path, name, bytes.ReplaceAll(text, []byte(e.Old), []byte(e.New))); err != nil {
		return edited{}, err
	}
	return edited{name, n, lineOf(text, bytes.Index(text, []byte(e.Old)))}, nil
}

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte{'\n'}) }

// noMatch says what stands there instead: the same text with other white space,
// or the first line of it.
func noMatch(e edit, text []byte) error {
	f := tools.Fail(tools.NotFound, fmt.Sprintf("old_text does not stand in %q.", clipPath(e.Path)), "Read the file again and give the text exactly as it stands there, without line numbers.")
	f.Causes = []string{"The file was changed since it was read, or the text is not copied exactly."}
	switch at := likeness(text, e.Old); {
	case bytes.Contains(text, []byte("\r\n")) && !strings.Contains(e.Old, "\r\n") && bytes.Contains(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte(e.Old)):
		f.Hint = []string{`The lines of this file end with \r\n; write them so in old_text and new_text.`}
	case at > 0:
		f.Message += fmt.Sprintf(" It stands there from line %d on, with other white space.", at)
		f.Hint = []string{"Copy the text with its spaces, tabs and line ends; context.stands_there shows it."}
		f.With("line", at).With("stands_there", linesFrom(text, at, 1+strings.Count(e.Old, "\n")))
	default:
		first, _, _ := strings.Cut(strings.TrimSpace(e.Old), "\n")
		if i := bytes.Index(text, []byte(strings.TrimSpace(first))); i >= 0 && strings.TrimSpace(first) != "" {
			at := lineOf(text, i)
			f.Message += fmt.Sprintf(" Its first line does, at line %d.", at)
			f.With("line", at).With("stands_there", linesFrom(text, at, 1+strings.Count(e.Old, "\n")))
		}
	}
	return f
}

// likeness is the line from which on old stands in text but for white space at the
// ends of its lines; 0 if it does not.
func likeness(text []byte, old string) int {
	lines, want := bytes.Split(text, []byte{'\n'}), bytes.Split(bytes.Trim([]byte(old), "\n"), []byte{'\n'})
	for i := range want {
		want[i] = bytes.Join(bytes.Fields(want[i]), []byte{' '})
	}
	for i := range lines {
		lines[i] = bytes.Join(bytes.Fields(lines[i]), []byte{' '})
	}
	for i := 0; i+len(want) <= len(lines); i++ {
		same := true
		for j := range want {
			if same = bytes.Equal(lines[i+j], want[j]); !same {
				break
			}
		}
		if same {
			return i + 1
		}
	}
	return 0
}

// linesFrom are at most n lines, 20 of them and 2,000 bytes at the most.
func linesFrom(text []byte, from, n int) string {
	lines := bytes.Split(text, []byte{'\n'})
	part := bytes.Join(lines[from-1:min(len(lines), from-1+min(n, 20))], []byte{'\n'})
	return strings.ToValidUTF8(string(part[:min(len(part), 2000)]), "\uFFFD")
}

func severalMatches(e edit, text []byte, n int) error {
	var at []int
	for i := 0; len(at) < 10; {
		j := bytes.Index(text[i:], []byte(e.Old))
		if j < 0 {
			break
		}
		at = append(at, lineOf(text, i+j))
		i += j + len(e.Old)
	}
	return tools.Fail(tools.Conflict, fmt.Sprintf("old_text stands %d times in %q.", n, clipPath(e.Path)),
		"Give more of the text around it, so that it stands there once.", "Or set replace_all to change all of them.").With("lines", at).With("count", n)
}

// verify looks whether the edits of a call stand in their files.
func (e *editFile) verify(ctx context.Context, args json.RawMessage, _ string) (tools.Landed, error) {
	var a editFileArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.LandUnknown, err
	}
	folder, err := e.workspaces.forReading(ctx)
	if err != nil {
		return tools.LandUnknown, err
	}
	defer folder.close()
	landed, not := 0, 0
	for _, one := range a.Edits {
		name, err := folder.inside(one.Path)
		if err != nil {
			return tools.LandUnknown, err
		}
		text, err := folder.text(one.Path, name)
		if err != nil {
			return tools.LandUnknown, err
		}
		was, is := bytes.Contains(text, []byte(one.Old)), one.New != "" && bytes.Contains(text, []byte(one.New))
		switch {
		case is && !was:
			landed++
		case was && !is:
			not++
		}
	}
	switch len(a.Edits) {
	case landed:
		return tools.DidLand, nil
	case not:
		return tools.DidNotLand, nil
	}
	return tools.LandUnknown, nil
}

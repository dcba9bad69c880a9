package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"baton/internal/tools"
)

//go:embed write_file.md
var writeFileText string

// writeMost is how long a file may be that a call writes or edits, in bytes.
const writeMost = 4 << 20

const writeFileSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "relative to the workspace"},
    "content": {"type": "string", "maxLength": 1000000, "description": "the whole text of the file"},
    "overwrite": {"type": "boolean", "description": "replace a file that is there with other text; false by default"}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}`

type writeFileArgs struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	Overwrite bool   `json:"overwrite"`
}

// writeFileAnswer is what a call has done.
type writeFileAnswer struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Lines int    `json:"lines"`
	Was   string `json:"was"` // nothing, the_same, other_text
}

// WriteFile is the tool write_file in the workspaces of an agent. To write the
// same text twice is the same as once, so a call may be repeated.
func WriteFile(workspaces *Workspaces) (tools.Tool, error) {
	w := &writeFile{workspaces}
	spec := tools.Spec{
		Name: "write_file", Version: "1", Description: strings.TrimSpace(writeFileText),
		Words: map[string]tools.Words{
			"en":      {Title: "Write a file", Sentence: "Write the file {path}", Reversal: "It is a file in the agent's workspace, which nobody else uses."},
			"zh-Hans": {Title: "写入文件", Sentence: "写入文件 {path}", Reversal: "这是智能体工作区里的文件，只有它自己使用。"},
		},
		Schema: json.RawMessage(writeFileSchema), Example: json.RawMessage(`{"path":"reports/2026-01.md","content":"# January\n\nAll invoices are paid.\n"}`),
		Effect: tools.EffectIdempotent, ConcurrencyKey: pathKey, Claims: []string{"wrote", "written", "saved", "已写入", "已保存"},
		Failures: append(writeFailures(),
			tools.DeclaredFailure{Name: "exists", Type: tools.Conflict, When: "the file is there with other text, and overwrite is not set"}),
	}
	return tools.Func(spec, w.run)
}

// writeFailures are those of every tool that writes in a workspace.
func writeFailures() []tools.DeclaredFailure {
	return []tools.DeclaredFailure{
		{Name: "outside", Type: tools.PermissionDenied, When: "the path or a link in it leads out of the workspace"},
		{Name: "directory", Type: tools.InvalidArguments, When: "the path is a directory"},
		{Name: "not_allowed", Type: tools.PermissionDenied, When: "the system does not allow writing it"},
		{Name: "disk_full", Type: tools.Unavailable, When: "there is no room on the disk"},
	}
}

// pathKey keeps calls apart that write the same file.
func pathKey(args json.RawMessage) string {
	var a struct {
		Path string `json:"path"`
	}
	_ = json.Unmarshal(args, &a) // one that can't be read is refused before it runs
	return "file " + path.Clean(a.Path)
}

type writeFile struct{ workspaces *Workspaces }

func (w *writeFile) run(ctx context.Context, a writeFileArgs) (writeFileAnswer, error) {
	answer := writeFileAnswer{Path: path.Clean(a.Path), Bytes: len(a.Content), Lines: strings.Count(a.Content, "\n"), Was: "nothing"}
	if a.Content != "" && !strings.HasSuffix(a.Content, "\n") {
		answer.Lines++
	}
	folder, err := w.workspaces.forWriting(ctx)
	if err != nil {
		return answer, err
	}
	defer folder.close()
	name, err := folder.inside(a.Path)
	if err != nil {
		return answer, err
	}
	old, err := folder.text(a.Path, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := folder.parents(a.Path, name); err != nil {
			return answer, err
		}
	case err != nil:
		return answer, err
	case string(old) == a.Content:
		answer.Was = "the_same"
		return answer, nil
	case !a.Overwrite:
		return answer, tools.Fail(tools.Conflict, fmt.Sprintf("%q is there already, with other text.", clipPath(a.Path)),
			"Read it first; then set overwrite to replace it, change a part with edit_file, or take another name.").With("bytes", len(old))
	default:
		answer.Was = "other_text"
	}
	return answer, folder.replace(a.Path, name, []byte(a.Content))
}

// text is a file's whole text, as far as a call may change it. One that is not
// there is fs.ErrNotExist.
func (f *folder) text(p, name string) ([]byte, error) {
	if info, err := f.root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	} else if err == nil && info.IsDir() {
		return nil, tools.Fail(tools.InvalidArguments, fmt.Sprintf("%q is a directory.", clipPath(p)), "Name a file.")
	}
	file, info, err := f.open(p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info.Size() > writeMost {
		return nil, tools.Fail(tools.InvalidArguments, fmt.Sprintf("%q has %d bytes; files over %d are not changed.", clipPath(p), info.Size(), writeMost), "Write the part that matters to a file of its own.")
	}
	b, err := io.ReadAll(io.LimitReader(file, writeMost))
	if err != nil {
		return nil, f.explain(p, name, err)
	}
	return b, nil
}

// parents makes the folders that a path needs.
func (f *folder) parents(p, name string) error {
	made := ""
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if made = path.Join(made, part); made == "." {
			continue
		}
		if err := f.root.Mkdir(made, 0o700); err == nil {
			if err := f.own(made); err != nil {
				return err
			}
		} else if !errors.Is(err, fs.ErrExist) {
			return f.unwritable(p, err)
		}
	}
	return nil
}

// replace puts a text in the place of a file at once: it is written beside it
// first, so no fault and no full disk leaves half of it.
func (f *folder) replace(p, name string, text []byte) error {
	beside := path.Join(path.Dir(name), ".baton-"+path.Base(name)[:min(len(path.Base(name)), 200)])
	mode := os.FileMode(0o600)
	if info, err := f.root.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	_ = f.root.Remove(beside) // of a call that was cut off, if there was one
	file, err := f.root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return f.unwritable(p, err)
	}
	_, err = io.Copy(file, bytes.NewReader(text))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		if err = f.own(beside); err == nil {
			err = f.root.Rename(beside, name)
		}
	}
	if err != nil {
		_ = f.root.Remove(beside) // the error that counts is there already
		return f.unwritable(p, err)
	}
	return nil
}

// unwritable says why nothing was written. The file is as it was.
func (f *folder) unwritable(p string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok && strings.Contains(pe.Err.Error(), "escapes") {
		return outside(p)
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		err = &fs.PathError{Op: le.Op, Path: p, Err: le.Err}
	}
	failure := tools.Classify(err)
	failure.Message = fmt.Sprintf("%q could not be written: %s.", clipPath(p), reason(err))
	failure.NotSent = true
	return failure
}

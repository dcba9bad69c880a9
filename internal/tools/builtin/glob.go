package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"baton/internal/tools"
)

//go:embed glob.md
var globText string

// Limits of a search for files.
const (
	globPaths    = 100
	lookedAtMost = 200_000 // files and folders
)

const globSchema = `{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "such as **/*.csv"}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`

type globArgs struct {
	Pattern string `json:"pattern"`
}

type globAnswer struct {
	Paths []globPath `json:"paths"`
	Total int        `json:"total"`
}

type globPath struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// Glob is the tool glob in the workspaces of an agent.
func Glob(workspaces *Workspaces) (tools.Tool, error) {
	g := &glob{workspaces}
	return tools.Func(tools.Spec{
		Name: "glob", Version: "1", Description: strings.TrimSpace(globText),
		Words: map[string]tools.Words{
			"en":      {Title: "Find files", Sentence: "Find files named {pattern}"},
			"zh-Hans": {Title: "查找文件", Sentence: "查找名称符合 {pattern} 的文件"},
		},
		Schema: json.RawMessage(globSchema), Example: json.RawMessage(`{"pattern":"invoices/**/*.csv"}`),
		Effect: tools.EffectRead,
		Failures: []tools.DeclaredFailure{
			{Name: "wrong_pattern", Type: tools.InvalidArguments, When: "the pattern can't be read"},
			{Name: "outside", Type: tools.PermissionDenied, When: "the pattern leads out of the workspace"},
		},
	}, g.run)
}

type glob struct{ workspaces *Workspaces }

func (g *glob) run(ctx context.Context, a globArgs) (tools.Output, error) {
	folder, err := g.workspaces.forReading(ctx)
	if err != nil {
		return tools.Output{}, err
	}
	defer folder.close()
	pattern, err := folder.pattern(a.Pattern)
	if err != nil {
		return tools.Output{}, err
	}
	answer := globAnswer{Paths: []globPath{}}
	looked, whole, err := folder.files(ctx, func(name string, e fs.DirEntry) error {
		if !doublestar.MatchUnvalidated(pattern, name) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		answer.Total++
		answer.Paths = append(answer.Paths, globPath{name, info.Size(), info.ModTime().UTC().Truncate(time.Second)})
		return nil
	})
	if err != nil {
		return tools.Output{}, err
	}
	slices.SortStableFunc(answer.Paths, func(a, b globPath) int { return b.Modified.Compare(a.Modified) })
	var out tools.Output
	if answer.Total == 0 {
		out.Notices = append(out.Notices, fmt.Sprintf("No file matches %q. %s", clipPath(a.Pattern), lookedAt(looked, whole)))
	} else if !whole {
		out.Notices = append(out.Notices, lookedAt(looked, whole))
	}
	if answer.Total > globPaths {
		answer.Paths = answer.Paths[:globPaths]
		out.Truncated = &tools.Truncated{TotalBytes: -1, TotalLines: int64(answer.Total), Shown: globPaths}
		out.Notices = append(out.Notices, fmt.Sprintf("%d files match; the %d newest are shown. Use a narrower pattern to see others.", answer.Total, globPaths))
	}
	out.Data, err = json.Marshal(answer)
	return out, err
}

// lookedAt says how far a search went.
func lookedAt(files int, whole bool) string {
	if whole {
		return fmt.Sprintf("All %d files of the workspace were looked at.", files)
	}
	return fmt.Sprintf("Only %d files were looked at; the workspace holds more. Search in one folder of it.", files)
}

// pattern is a glob pattern in the form that is matched, or the reason why it is none.
func (f *folder) pattern(p string) (string, error) {
	if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "../") || strings.Contains(p, "/../") || strings.HasSuffix(p, "/..") {
		return "", outside(p)
	}
	p = strings.TrimPrefix(p, "./")
	if !doublestar.ValidatePattern(p) {
		return "", tools.Fail(tools.InvalidArguments, fmt.Sprintf("%q is no pattern that can be read.", clipPath(p)), "Close each bracket and brace, or write them as [[] and [{].", "An example is **/*.csv.")
	}
	return p, nil
}

// files goes over the files of a workspace in the order of their paths, links
// not followed. whole says that none was left out.
func (f *folder) files(ctx context.Context, each func(name string, e fs.DirEntry) error) (files int, whole bool, err error) {
	seen := 0
	whole = true
	err = fs.WalkDir(f.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			whole = whole && errors.Is(err, fs.ErrNotExist)
			return nil // a folder that can't be read, or was removed meanwhile
		}
		if seen++; seen > lookedAtMost {
			whole = false
			return fs.SkipAll
		}
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".baton-") {
			return nil
		}
		files++
		return each(name, e)
	})
	return files, whole, err
}

package builtin

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"baton/internal/tools"
)

//go:embed grep.md
var grepText string

// Limits of a search in files.
const (
	grepMatches = 250
	grepLine    = 400       // characters shown of a line, around what was found
	grepLongest = 1 << 20   // bytes of one line that are searched
	grepBytes   = 512 << 20 // of all files together
)

const grepSchema = `{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "a regular expression"},
    "literal": {"type": "boolean", "description": "the pattern is a plain text; false by default"},
    "ignore_case": {"type": "boolean", "description": "false by default"},
    "path": {"type": "string", "maxLength": 4096, "description": "a folder or a file; the whole workspace by default"},
    "glob": {"type": "string", "maxLength": 1000, "description": "only files whose path matches, such as **/*.csv"},
    "offset": {"type": "integer", "minimum": 0, "description": "matching lines to skip; 0 by default"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 250, "description": "lines to show; 250 by default"}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`

type grepArgs struct {
	Pattern    string `json:"pattern"`
	Literal    bool   `json:"literal"`
	IgnoreCase bool   `json:"ignore_case"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	Offset     int    `json:"offset"`
	Limit      int    `json:"limit"`
}

// Grep is the tool grep in the workspaces of an agent.
func Grep(workspaces *Workspaces) (tools.Tool, error) {
	g := &grep{workspaces}
	return tools.Func(tools.Spec{
		Name: "grep", Version: "1", Description: strings.TrimSpace(grepText),
		Words: map[string]tools.Words{
			"en":      {Title: "Search in files", Sentence: "Search files for {pattern}"},
			"zh-Hans": {Title: "在文件中搜索", Sentence: "在文件中搜索 {pattern}"},
		},
		Schema: json.RawMessage(grepSchema), Example: json.RawMessage(`{"pattern":"A-10[0-9]{2}","glob":"**/*.csv"}`),
		Effect: tools.EffectRead,
		Format: tools.Format{Strategy: tools.Head, MaxLines: 2*grepMatches + 10},
		Failures: []tools.DeclaredFailure{
			{Name: "wrong_pattern", Type: tools.InvalidArguments, When: "the regular expression or the glob can't be read"},
			{Name: "no_such_path", Type: tools.NotFound, When: "the path does not exist"},
			{Name: "outside", Type: tools.PermissionDenied, When: "the path leads out of the workspace"},
		},
	}, g.run)
}

type grep struct{ workspaces *Workspaces }

// search is one run over the files.
type search struct {
	folder     *folder
	expression *regexp.Regexp
	skip, want int

	found, shown    int
	files, withHits int
	noText          int
	read            int64
	whole           bool
	text            strings.Builder
}

func (g *grep) run(ctx context.Context, a grepArgs) (tools.Output, error) {
	expression, err := compileGrep(a)
	if err != nil {
		return tools.Output{}, err
	}
	folder, err := g.workspaces.forReading(ctx)
	if err != nil {
		return tools.Output{}, err
	}
	defer folder.close()
	in, err := folder.inside(a.Path)
	if err != nil {
		return tools.Output{}, err
	}
	if _, err := folder.root.Stat(in); err != nil {
		return tools.Output{}, folder.explain(a.Path, in, err)
	}
	only := "**"
	if a.Glob != "" {
		if only, err = folder.pattern(a.Glob); err != nil {
			return tools.Output{}, err
		}
	}
	s := &search{folder: folder, expression: expression, skip: a.Offset, want: a.Limit}
	if s.want == 0 {
		s.want = grepMatches
	}
	_, s.whole, err = folder.files(ctx, func(name string, _ fs.DirEntry) error {
		if in != "." && name != in && !strings.HasPrefix(name, in+"/") || !doublestar.MatchUnvalidated(only, name) {
			return nil
		}
		return s.file(ctx, name)
	})
	if errors.Is(err, errGrepEnough) {
		s.whole, err = false, nil
	}
	if err != nil {
		return tools.Output{}, err
	}
	return s.output(a, path.Clean(in)), nil
}

var errGrepEnough = errors.New("as much as one call searches")

func compileGrep(a grepArgs) (*regexp.Regexp, error) {
	pattern := a.Pattern
	if a.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if a.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, tools.Fail(tools.InvalidArguments, fmt.Sprintf("The pattern is no regular expression: %s.", why),
			"Set literal to search for the text as it is.", "Or write a backslash before each of . * + ? ( ) [ ] { } | that stands for itself.").Because(err)
	}
	return expression, nil
}

// file searches one file. What can't be opened any more is passed over.
func (s *search) file(ctx context.Context, name string) error {
	f, _, err := s.folder.open(name)
	if err != nil {
		return nil // it was removed meanwhile, or may not be read
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReaderSize(f, 64<<10)
	if sample, _ := lines.Peek(8000); tools.DescribeBinary(sample) != nil {
		s.noText++
		return nil
	}
	s.files++
	found, named := s.found, false
	defer func() {
		if s.found > found {
			s.withHits++
		}
	}()
	for n := 1; ; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, size, err := wholeLine(lines, grepLongest)
		s.read += int64(size)
		if at := s.expression.FindIndex(line); at != nil && (size > 0 || err == nil) {
			s.hit(name, n, line, at, &named)
		}
		if err != nil {
			return nil // the end of the file
		}
		if s.read > grepBytes {
			return errGrepEnough
		}
	}
}

// hit notes one matching line.
func (s *search) hit(name string, n int, line []byte, at []int, named *bool) {
	s.found++
	if s.found <= s.skip || s.shown == s.want {
		return
	}
	if !*named {
		fmt.Fprintf(&s.text, "%s\n", name)
		*named = true
	}
	s.shown++
	fmt.Fprintf(&s.text, "%6d\t%s\n", n, aroundMatch(line, at))
}

// aroundMatch is a line, or of a long one what stands around the match.
func aroundMatch(line []byte, at []int) string {
	text := strings.TrimRight(string(line), "\r")
	if utf8.RuneCountInString(text) <= grepLine {
		return text
	}
	from := max(0, at[0]-grepLine/4)
	part := []rune(strings.ToValidUTF8(string(line[from:min(len(line), from+4*grepLine)]), ""))
	out := string(part[:min(len(part), grepLine)])
	if from > 0 {
		out = "[...] " + out
	}
	return out + " [...]"
}

// wholeLine reads one line without its end, of which it keeps at most limit bytes.
func wholeLine(r *bufio.Reader, limit int) (line []byte, size int, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		size += len(piece)
		if room := limit - len(line); room > 0 {
			line = append(line, piece[:min(room, len(piece))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte{'\n'}), size, err
		}
	}
}

func (s *search) output(a grepArgs, in string) tools.Output {
	out := tools.Output{Text: s.text.String(), ContentType: "text/plain"}
	where := "the workspace"
	if in != "." {
		where = fmt.Sprintf("%q", clipPath(in))
	}
	searched := fmt.Sprintf("%d text files of %s were searched to their end.", s.files, where)
	if !s.whole {
		searched = fmt.Sprintf("The search is not complete: %d text files of %s were searched, then it was ended for its size. Search in one folder, or with glob.", s.files, where)
	}
	if s.noText > 0 {
		searched += fmt.Sprintf(" %d files are no text and were passed over.", s.noText)
	}
	switch {
	case s.found == 0:
		out.Notices = []string{"No line matches. " + searched}
	case s.shown == 0:
		out.Notices = []string{fmt.Sprintf("%d lines match; offset %d is beyond them.", s.found, a.Offset)}
	case s.skip+s.shown < s.found:
		out.Truncated = &tools.Truncated{TotalBytes: -1, TotalLines: int64(s.found), Shown: int64(s.shown), NextOffset: int64(s.skip + s.shown)}
		out.Notices = []string{fmt.Sprintf("%d lines in %d files match; %d to %d are shown. Go on with offset %d.", s.found, s.withHits, s.skip+1, s.skip+s.shown, s.skip+s.shown)}
	default:
		out.Notices = []string{fmt.Sprintf("%d lines in %d files match.", s.found, s.withHits)}
	}
	if !s.whole && s.found > 0 {
		out.Notices = append(out.Notices, searched)
	}
	if s.found == 0 {
		out.Data, out.Text = json.RawMessage(`{"matches":0}`), ""
	}
	return out
}

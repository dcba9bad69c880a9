package builtin

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"baton/internal/tools"
)

//go:embed read_file.md
var readFileText string

// Limits of reading.
const (
	readLines = 2000     // by default, and at most
	readLine  = 2000     // characters shown of one line
	readChars = 28000    // of one answer, with the numbers
	readScan  = 64 << 20 // bytes that are looked through for the number of lines
)

const readFileSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "relative to the workspace"},
    "offset": {"type": "integer", "minimum": 0, "description": "lines to skip; 0 by default"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "lines to return; 2000 by default"}
  },
  "required": ["path"],
  "additionalProperties": false
}`

type readFileArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

// ReadFile is the tool read_file in the workspaces of an agent.
func ReadFile(workspaces *Workspaces) (tools.Tool, error) {
	r := &readFile{workspaces}
	spec := tools.Spec{
		Name: "read_file", Version: "1", Description: strings.TrimSpace(readFileText),
		Words: map[string]tools.Words{
			"en":      {Title: "Read a file", Sentence: "Read the file {path}"},
			"zh-Hans": {Title: "读取文件", Sentence: "读取文件 {path}"},
		},
		Schema: json.RawMessage(readFileSchema), Example: json.RawMessage(`{"path":"invoices/2026-01.csv","offset":0,"limit":200}`),
		Effect: tools.EffectRead,
		Format: tools.Format{Strategy: tools.Head, MaxLines: readLines + 1, MaxLine: readLine + 200},
		Failures: []tools.DeclaredFailure{
			{Name: "no_such_file", Type: tools.NotFound, When: "the path does not exist"},
			{Name: "outside", Type: tools.PermissionDenied, When: "the path or a link in it leads out of the workspace"},
			{Name: "directory", Type: tools.InvalidArguments, When: "the path is a directory"},
			{Name: "no_regular_file", Type: tools.InvalidArguments, When: "the path is a pipe, a socket or a device"},
			{Name: "not_allowed", Type: tools.PermissionDenied, When: "the system does not allow reading it"},
		},
	}
	return tools.Func(spec, r.run)
}

type readFile struct{ workspaces *Workspaces }

func (r *readFile) run(ctx context.Context, a readFileArgs) (tools.Output, error) {
	folder, err := r.workspaces.forReading(ctx)
	if err != nil {
		return tools.Output{}, err
	}
	defer folder.close()
	f, info, err := folder.open(a.Path)
	if err != nil {
		return tools.Output{}, err
	}
	defer func() { _ = f.Close() }()
	sample := make([]byte, 8000)
	n, err := io.ReadFull(f, sample)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return tools.Output{}, err
	}
	if desc := tools.DescribeBinary(sample[:n]); desc != nil {
		return describeFile(f, sample[:n], info.Size())
	}
	limit := a.Limit
	if limit == 0 {
		limit = readLines
	}
	return readText(io.MultiReader(bytes.NewReader(sample[:n]), f), a.Offset, limit, info.Size())
}

func describeFile(f io.Reader, sample []byte, size int64) (tools.Output, error) {
	const whole = 32 << 20
	if size > whole {
		return tools.Output{Data: tools.DescribeBinary(sample), Notices: []string{fmt.Sprintf("The file is no text. It has %d bytes; type and digest are those of its beginning.", size)}}, nil
	}
	rest, err := io.ReadAll(io.LimitReader(f, whole))
	if err != nil {
		return tools.Output{}, err
	}
	return tools.Output{Data: tools.DescribeBinary(append(sample, rest...)), Notices: []string{"The file is no text; it is described."}}, nil
}

// readText numbers the lines that are wanted and counts the rest.
func readText(in io.Reader, offset, limit int, size int64) (tools.Output, error) {
	lines := bufio.NewReaderSize(io.LimitReader(in, readScan), 64<<10)
	var b strings.Builder
	total, shown, chars, full := 0, 0, 0, false
	for {
		line, more, err := nextLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return tools.Output{}, err
		}
		if line == "" && errors.Is(err, io.EOF) && !more {
			break
		}
		if total >= offset && shown < limit && !full {
			text := fmt.Sprintf("%6d\t%s\n", total+1, line)
			if chars += utf8.RuneCountInString(text); chars > readChars && shown > 0 {
				full = true
			} else {
				b.WriteString(text)
				shown++
			}
		}
		total++
		if err != nil {
			break
		}
	}
	all := int64(total)
	if size > readScan {
		all = -1
	}
	return readOutput(b.String(), offset, shown, all, size), nil
}

func readOutput(text string, offset, shown int, total, size int64) tools.Output {
	out := tools.Output{Text: text, ContentType: "text/plain"}
	of := fmt.Sprintf("%d", total)
	if total < 0 {
		of = "an unknown number"
	}
	switch {
	case size == 0:
		out.Notices = []string{"The file is empty."}
	case shown == 0:
		out.Notices = []string{fmt.Sprintf("The file has %s lines; offset %d is beyond them.", of, offset)}
	case total < 0 || int64(offset+shown) < total:
		out.Truncated = &tools.Truncated{TotalBytes: size, TotalLines: total, Shown: int64(shown), NextOffset: int64(offset + shown)}
		out.Notices = []string{fmt.Sprintf("Lines %d to %d of %s; go on with offset %d.", offset+1, offset+shown, of, offset+shown)}
	case offset > 0:
		out.Notices = []string{fmt.Sprintf("Lines %d to %d of %s, to the end of the file.", offset+1, offset+shown, of)}
	}
	return out
}

// nextLine reads one line, of which it keeps the beginning. more says that there
// was something, also when the line is empty.
func nextLine(r *bufio.Reader) (line string, more bool, err error) {
	var kept []byte
	cut := 0
	for {
		piece, err := r.ReadSlice('\n')
		more = more || len(piece) > 0
		if room := readLine*utf8.UTFMax - len(kept); room > 0 {
			kept = append(kept, piece[:min(room, len(piece))]...)
			piece = piece[min(room, len(piece)):]
		}
		cut += len(piece)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		text := strings.ToValidUTF8(strings.TrimRight(string(kept), "\r\n"), "\uFFFD")
		if runes := []rune(text); len(runes) > readLine {
			cut += len(string(runes[readLine:]))
			text = string(runes[:readLine])
		}
		if cut > 1 {
			text += fmt.Sprintf(" [... %d bytes of this line left out ...]", cut)
		}
		return text, more, err
	}
}

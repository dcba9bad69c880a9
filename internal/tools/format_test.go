package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"baton/internal/redact"
)

func testPresenter(t testing.TB, f Format) presenter {
	t.Helper()
	r, err := redact.New(redact.Options{Key: []byte("k")})
	if err != nil {
		t.Fatal(err)
	}
	return presenter{redactor: r, spec: Spec{Name: "x", Format: f.withDefaults()}, pages: true}
}

func numbered(n int, line func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
		b.WriteByte('\n')
	}
	return b.String()
}

func dataText(t testing.TB, o Output) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(o.Data, &s); err != nil {
		t.Fatalf("%s: %v", o.Data, err)
	}
	return s
}

// R: F1
func TestOutputWithinTheLimitsIsUnchanged(t *testing.T) {
	t.Parallel()
	text := numbered(200, func(i int) string { return fmt.Sprint("line ", i, " ", strings.Repeat("ü", 100)) })
	out, kept := testPresenter(t, Format{}).output(Output{Text: text}, Captured{})
	if dataText(t, out) != text || kept != "" || out.Truncated != nil || len(out.Notices) != 0 {
		t.Errorf("changed: %v", out.Notices)
	}
}

// R: F2, F3, F9, A5
func TestLongOutputKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	text := numbered(1000, func(i int) string { return fmt.Sprint("line ", i) })
	out, kept := testPresenter(t, Format{}).output(Output{Text: text}, Captured{})
	got := dataText(t, out)
	if !strings.HasPrefix(got, "line 0\n") || !strings.HasSuffix(got, "line 999") || !strings.Contains(got, "line 139\n[... 800 lines, 7200 bytes left out ...]\nline 940") {
		t.Errorf("got %s", got)
	}
	if c := out.Truncated; c == nil || c.TotalLines != 1000 || c.Shown != 200 || c.NextOffset != 140 || c.TotalBytes != int64(len(text)) {
		t.Errorf("meta %+v", c)
	}
	if len(out.Notices) != 1 || !strings.Contains(out.Notices[0], "1000 lines") || !strings.Contains(out.Notices[0], "read_output from offset 140.") {
		t.Errorf("notices %q", out.Notices)
	}
	if kept != text {
		t.Error("not all of it was kept")
	}
}

// R: F2, F7
// case: harness A10
func TestErrorAtTheEndSurvives(t *testing.T) {
	t.Parallel()
	text := numbered(40, func(i int) string {
		if i == 39 {
			return strings.Repeat("x", 5000) + " fatal: the disk is full"
		}
		return strings.Repeat("y", 5000)
	})
	out, _ := testPresenter(t, Format{}).output(Output{Text: text}, Captured{})
	got := dataText(t, out)
	if !strings.HasSuffix(got, "fatal: the disk is full") || len(got) > 32000 || !strings.Contains(out.Notices[0], "40 lines") {
		t.Errorf("%d bytes, notices %v, end %s", len(got), out.Notices, got[len(got)-100:])
	}
}

// R: F5, F7
func TestErrorLinesFromTheMiddleSurvive(t *testing.T) {
	t.Parallel()
	text := numbered(5000, func(i int) string {
		if i == 2500 || i == 2600 {
			return fmt.Sprint("ERROR: test ", i, " failed")
		}
		return "ok"
	})
	out, _ := testPresenter(t, Format{}).output(Output{Text: text}, Captured{})
	got := dataText(t, out)
	if !strings.Contains(got, "ERROR: test 2500 failed\n[... 99 lines") || !strings.Contains(got, "ERROR: test 2600 failed") || !strings.Contains(out.Notices[0], "2 lines from the middle") {
		t.Errorf("got %s\n%v", got, out.Notices)
	}
}

// Whatever comes in: within the limits, on character borders, no panic, and
// every line can be reached by paging.
// R: F2, F9, L5
func TestCutsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := Format{MaxLines: rapid.IntRange(1, 30).Draw(rt, "lines"), MaxLine: rapid.IntRange(1, 60).Draw(rt, "line"), MaxChars: rapid.IntRange(10, 400).Draw(rt, "chars"), Strategy: rapid.SampledFrom([]Strategy{HeadTail, Head}).Draw(rt, "strategy")}
		text := strings.Join(rapid.SliceOfN(rapid.StringOf(rapid.RuneFrom([]rune("aé界🙂 error\n"))), 0, 80).Draw(rt, "text"), "\n")
		s := formatText(text, f, Captured{TotalBytes: int64(len(text)), TotalLines: int64(len(splitLines(text)))}, -1)
		if !utf8.ValidString(s.text) {
			rt.Fatal("cut inside a character")
		}
		if s.cut == nil {
			if s.text != text {
				rt.Fatal("changed without a word")
			}
			return
		}
		room := f.MaxChars + errorChars + (errorLines+3)*60 + 2*f.MaxLines
		if n := utf8.RuneCountInString(s.text); n > room {
			rt.Fatalf("%d characters, limit %d", n, f.MaxChars)
		}
		if s.notice == "" || s.cut.Shown > int64(f.MaxLines+errorLines) {
			rt.Fatalf("%+v %q", s.cut, s.notice)
		}
		var all strings.Builder
		for at := 0; ; {
			page := PageText(text, at, 7)
			all.WriteString(page.Text + "\n")
			if page.Truncated.NextOffset == 0 {
				break
			}
			at = int(page.Truncated.NextOffset)
		}
		if strings.TrimRight(all.String(), "\n") != strings.TrimRight(text, "\n") {
			rt.Fatal("paging loses something")
		}
	})
}

// R: F9, F10
func TestPagingReachesTheEndOfALongLine(t *testing.T) {
	t.Parallel()
	text := "short\n" + strings.Repeat("é", 4500) + "END\nlast\n"
	page := PageText(text, 1, 3)
	if !strings.HasSuffix(page.Text, "END") || page.Truncated.NextOffset != 4 || page.Truncated.TotalLines != 5 {
		t.Errorf("%+v", page.Truncated)
	}
	if page := PageText(text, 99, 3); page.Text != "" || page.Truncated.Shown != 0 {
		t.Errorf("past the end: %+v", page)
	}
}

// R: F4
func TestManyRowsAreCounted(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []Column{{"status", "text"}, {"amount", "numeric"}, {"note", "text"}}, RowCount: 3000, Complete: true}
	for i := range 3000 {
		status := `"paid"`
		if i%3 == 0 {
			status = `"open"`
		}
		table.Rows = append(table.Rows, []json.RawMessage{json.RawMessage(status), json.RawMessage(fmt.Sprint(i)), json.RawMessage("null")})
	}
	raw, _ := marshal(table)
	out, kept := testPresenter(t, Format{Strategy: TableRows}).output(Output{Data: raw}, Captured{})
	var s summary
	if err := json.Unmarshal(out.Data, &s); err != nil {
		t.Fatal(err)
	}
	if s.Rows != 3000 || string(s.Columns[0].Top[0].Value) != `"paid"` || s.Columns[0].Top[0].Count != 2000 || string(s.Columns[1].Max) != "2999" || s.Columns[2].Nulls != 3000 || len(s.First) != 20 {
		t.Errorf("got %s", out.Data)
	}
	if strings.Count(kept, "\n") != 3000 || !strings.Contains(out.Notices[0], "3000 rows") {
		t.Errorf("kept %d lines, notices %v", strings.Count(kept, "\n"), out.Notices)
	}
}

// R: F2, F8
func TestRowsUpToTheLimit(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []Column{{"n", "int"}}, RowCount: -1}
	for i := range 300 {
		table.Rows = append(table.Rows, []json.RawMessage{json.RawMessage(fmt.Sprint(i))})
	}
	raw, _ := marshal(table)
	out, kept := testPresenter(t, Format{Strategy: TableRows}).output(Output{Data: raw}, Captured{})
	var got Table
	if err := json.Unmarshal(out.Data, &got); err != nil || len(got.Rows) != 200 || got.Complete || !strings.Contains(out.Notices[0], "not known") || strings.Count(kept, "\n") != 300 {
		t.Errorf("%d rows, %v, %v", len(got.Rows), out.Notices, err)
	}
}

// R: F2
func TestLongListsAndObjects(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 5000 {
		list = append(list, fmt.Sprint("element ", i))
	}
	raw, _ := marshal(list)
	out, kept := testPresenter(t, Format{}).output(Output{Data: raw}, Captured{})
	if !strings.Contains(string(out.Data), `"element 4999"`) || !strings.Contains(string(out.Data), `"elements":5000`) || len(out.Data) > 31000 || strings.Count(kept, "\n") != 5000 {
		t.Errorf("%d bytes: %.200s", len(out.Data), out.Data)
	}
	raw, _ = marshal(map[string]any{"list": list})
	out, _ = testPresenter(t, Format{}).output(Output{Data: raw}, Captured{})
	if got := dataText(t, out); len(got) > 31000 || !strings.Contains(got, "left out") {
		t.Errorf("%d bytes", len(got))
	}
}

// R: F6
func TestBinaryIsDescribed(t *testing.T) {
	t.Parallel()
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00" + strings.Repeat("\xff\x00", 100)
	for name, c := range map[string]struct{ in, want string }{"png": {png, "image/png"}, "noise": {strings.Repeat("\xff", 20), "application/octet-stream"}} {
		out, _ := testPresenter(t, Format{}).output(Output{Text: c.in}, Captured{})
		if got := string(out.Data); !strings.Contains(got, `"content_type":"`+c.want) || !strings.Contains(got, "sha256") || !strings.Contains(got, fmt.Sprintf(`"bytes":%d`, len(c.in))) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if out, _ := testPresenter(t, Format{}).output(Output{Text: "mostly text\xff 退款"}, Captured{}); !strings.Contains(dataText(t, out), "退款") {
		t.Error("text with one wrong byte is no binary")
	}
}

// Redaction comes before the cut: no half of a secret is shown.
// R: O3, F10
func TestSecretsAreMaskedBeforeTheCut(t *testing.T) {
	t.Parallel()
	key := "ghp_" + strings.Repeat("Ab3", 12)
	for pad := 1980; pad < 2010; pad++ {
		out, kept := testPresenter(t, Format{}).output(Output{Text: strings.Repeat("-", pad) + " \x1b[1m" + key + strings.Repeat(" x", 2000) + "\n\x1b[31mred\x00"}, Captured{})
		if all := string(out.Data) + kept; strings.Contains(all, "Ab3Ab3") || strings.Contains(all, "\x1b") || strings.Contains(all, `\u0000`) {
			t.Fatalf("at %d: %s", pad, all)
		}
	}
}

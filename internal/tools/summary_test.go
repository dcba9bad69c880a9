package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// summarized is the text that a model gets for a text of 1,000 lines and more.
func summarized(t testing.TB, text string) (string, Output) {
	t.Helper()
	out, kept := testPresenter(t, Format{}).output(Output{Text: text}, Captured{})
	if kept != text {
		t.Error("not all of it was kept")
	}
	return dataText(t, out), out
}

func wantAll(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

// R: F4, F7, F9
func TestALogIsCounted(t *testing.T) {
	t.Parallel()
	text := numbered(3000, func(i int) string {
		at := fmt.Sprintf("2026-11-02T%02d:%02d:07.218Z", 9+i/3600, i/60%60)
		switch {
		case i == 1500:
			return at + " ERROR pay charge of ord_01jd9f failed: card declined\n\tat pay.charge(pay.js:41)"
		case i%100 == 50:
			return at + " WARN  pool slow query took 812ms"
		}
		return fmt.Sprintf("%s INFO  http GET /orders/%d done in %dms", at, i, i%37)
	})
	got, out := summarized(t, text)
	wantAll(t, got,
		"3000 records of a log, the first of 2026-11-02T09:00:07.218Z, the last of 2026-11-02T09:49:07.218Z.",
		"1 further line has no time of its own",
		"By level: INFO 2969, WARN 30, ERROR 1.",
		"  2969  INFO  http GET /orders/<n> done in <n>ms",
		"line 1501: 2026-11-02T09:25:07.218Z ERROR pay charge of ord_01jd9f failed: card declined",
		"The last 20 lines:\n")
	if !strings.HasSuffix(got, "GET /orders/2999 done in 2ms") {
		t.Errorf("the end is not shown: %s", got[len(got)-100:])
	}
	if c := out.Truncated; c.TotalLines != 3001 || c.Shown != 31 || c.NextOffset != 10 || !strings.Contains(out.Notices[0], "3001 lines") || !strings.Contains(out.Notices[0], "read_output from offset 10.") {
		t.Errorf("%+v %q", c, out.Notices)
	}
	if page := PageText(text, 1500, 1); !strings.Contains(page.Text, "ERROR pay") {
		t.Errorf("line 1501 is not at offset 1500: %s", page.Text)
	}
}

// R: F4
func TestTimesAndLevelsOfManyLogs(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]record{
		"2026-11-02 09:41:07,218 [ERROR] it broke":                            {"2026-11-02 09:41:07,218", "ERROR", ""},
		"[2026-11-02T09:41:07+01:00] warning: low":                            {"2026-11-02T09:41:07+01:00", "WARN", ""},
		"2026/11/02 09:41:07 [error] 31#31: no":                               {"2026/11/02 09:41:07", "ERROR", ""},
		"Nov  2 09:41:07 host sshd[12]: session":                              {"Nov  2 09:41:07", "", ""},
		"09:41:07.2 DEBUG x":                                                  {"09:41:07.2", "DEBUG", ""},
		"E1102 09:41:07.123456    1 main.go:3] it broke":                      {"1102 09:41:07.123456", "ERROR", ""},
		`time=2026-11-02T09:41:07Z level=info msg="error x"`:                  {"2026-11-02T09:41:07Z", "INFO", ""},
		`10.0.0.1 - ana [02/Nov/2026:09:41:07 +0100] "GET / HTTP/1.1" 503 12`: {"02/Nov/2026:09:41:07 +0100", "status 503", ""},
		"2026-11-02 09:41:07 error in the third line is only a word":          {"2026-11-02 09:41:07", "", ""},
	} {
		got, ok := parseRecord(line)
		if got.text = ""; !ok || got != want {
			t.Errorf("%s: %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "plain", "12 bottles", "a.go:12:3: undefined", "2026", "Mon 12"} {
		if r, ok := parseRecord(line); ok {
			t.Errorf("%q is taken for %+v", line, r)
		}
	}
}

// R: F4
func TestMatchesAreGroupedByFile(t *testing.T) {
	t.Parallel()
	text := numbered(2000, func(i int) string {
		return fmt.Sprintf("internal/%c/x.go:%d:\treturn errors.New(%d)", 'a'+i%4*(i%2), i, i)
	})
	got, out := summarized(t, text)
	wantAll(t, got, "2000 matches in 3 files.", "  1000  internal/a/x.go", "   500  internal/b/x.go", "  2000  \treturn errors.New(<n>)", "  internal/d/x.go:3:\treturn")
	if !strings.Contains(out.Notices[0], "the matches are summarised") {
		t.Errorf("%q", out.Notices)
	}
}

// R: F4
func TestObjectsOfLinesAreCounted(t *testing.T) {
	t.Parallel()
	text := numbered(1500, func(i int) string {
		if i == 700 {
			return "not an object: connection refused"
		}
		return fmt.Sprintf(`{"time":"2026-11-02T09:41:%02dZ","level":"%s","msg":"order %d shipped","cost":%d.10,"by":{"name":"Ana"}}`, i%60, []string{"info", "warn"}[i%2], i, i)
	})
	got, _ := summarized(t, text)
	wantAll(t, got, "1499 JSON objects, one a line.", "1 further line is no object.",
		"  /level: string, 2 different values", `"warn" 750 times, "info" 749 times`,
		"  /cost: number, 1499 different values, from 0.10 to 1499.10, sum 1123699.90",
		`  /by/name: string, 1 value; "Ana" 1499 times`, "By level: WARN 750, INFO 749.", "  1499  order <n> shipped",
		"line 701: not an object: connection refused")
}

// R: F4, F2
func TestListsOfObjectsAreCountedWhereverTheyStand(t *testing.T) {
	t.Parallel()
	var list []map[string]any
	for i := range 3000 {
		o := map[string]any{"id": 9007199254740000 + i, "state": []string{"open", "paid", "paid"}[i%3], "to": map[string]any{"city": "Köln"}}
		if i%2 == 0 {
			o["note"] = nil
		}
		list = append(list, o)
	}
	bare, _ := marshal(list)
	inside, _ := marshal(map[string]any{"status": 200, "body": map[string]any{"orders": list, "next": "p2"}})
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, bare, "", "  ")
	for name, c := range map[string]struct {
		out Output
		at  string
	}{"bare": {Output{Data: bare}, ""}, "inside": {Output{Data: inside}, "/body/orders"}, "printed": {Output{Text: pretty.String()}, ""}} {
		out, kept := testPresenter(t, Format{}).output(c.out, Captured{})
		at := out.Data
		if c.at != "" {
			var doc struct {
				Status int
				Body   struct {
					Orders json.RawMessage
					Next   string
				}
			}
			if err := json.Unmarshal(out.Data, &doc); err != nil || doc.Status != 200 || doc.Body.Next != "p2" {
				t.Fatalf("%s: the rest of the answer is gone: %s", name, out.Data)
			}
			at = doc.Body.Orders
		}
		var s listSummary
		if err := json.Unmarshal(at, &s); err != nil {
			t.Fatal(err)
		}
		fields := map[string]fieldSummary{}
		for _, f := range s.Fields {
			fields[f.Path] = f
		}
		id, state, note := fields["/id"], fields["/state"], fields["/note"]
		if s.Elements != 3000 || string(id.Min) != "9007199254740000" || string(id.Max) != "9007199254742999" || string(state.Top[0].Value) != `"paid"` || state.Top[0].Count != 2000 ||
			note.In != 1500 || note.Nulls != 1500 || fields["/to/city"].Distinct != 1 || len(s.First) != 5 {
			t.Errorf("%s: %s", name, at)
		}
		if kept == "" || !strings.Contains(out.Notices[0], "3000 elements") || len(out.Data) > 30000 {
			t.Errorf("%s: %q", name, out.Notices)
		}
	}
}

// R: F4
func TestWhatHasNoStructureIsNotGuessedAt(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]func(int) string{
		"prose":    func(i int) string { return fmt.Sprint("The order number ", i, " was shipped: nobody asked.") },
		"times":    func(i int) string { return fmt.Sprintf("%02d:%02d was quiet", i/60%24, i%60) },
		"few":      func(i int) string { return map[bool]string{true: "a.go:12: x", false: "nothing"}[i%3 > 0] },
		"too deep": func(int) string { return `[{"a":1}]` },
	} {
		got, _ := summarized(t, numbered(2000, line))
		if !strings.Contains(got, "left out ...]") || !strings.HasPrefix(got, line(0)) {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	if got, _ := summarized(t, `{"list":[`+strings.Repeat("1,\n", 2000)+"2]}"); !strings.HasPrefix(got, `{"list":[1,`) {
		t.Errorf("numbers in a list: %.200s", got)
	}
	read := testPresenter(t, Format{Strategy: Head})
	out, _ := read.output(Output{Text: numbered(3000, func(i int) string { return fmt.Sprint("a.go:", i, ": x") })}, Captured{})
	if got := dataText(t, out); !strings.HasPrefix(got, "a.go:0: x\n") {
		t.Errorf("a tool that gives its output by offset is summarised: %.200s", got)
	}
}

// One fault that is told a thousand times hides no other.
// R: F5, F7
func TestEachKindOfErrorSurvives(t *testing.T) {
	t.Parallel()
	text := numbered(5000, func(i int) string {
		switch {
		case i == 4000:
			return "fatal: the disk is full"
		case i%2 == 0:
			return fmt.Sprint("error: retry ", i)
		}
		return "fine"
	})
	got, _ := summarized(t, text)
	wantAll(t, got, "fatal: the disk is full")
}

// Whatever the lines: one text has one summary, it is bounded, and its numbers
// are those of a plain recount.
// R: F4, L5
func TestSummariesAreTrueBoundedAndStable(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abcé界 12:{}\"-_.")), 0, 30, -1)
	kinds := map[string]func(t *rapid.T) string{
		"log": func(t *rapid.T) string {
			return fmt.Sprintf("2026-11-02T09:41:%02dZ %s %s", rapid.IntRange(0, 59).Draw(t, "s"), rapid.SampledFrom([]string{"INFO", "WARN", "ERROR", "quiet"}).Draw(t, "level"), word.Draw(t, "text"))
		},
		"matches": func(t *rapid.T) string {
			return fmt.Sprintf("dir/%s.go:%d:%s", rapid.StringMatching(`[a-d]{1,2}`).Draw(t, "file"), rapid.IntRange(1, 999).Draw(t, "n"), word.Draw(t, "text"))
		},
		"objects": func(t *rapid.T) string {
			b, _ := marshal(map[string]any{"k": word.Draw(t, "text"), "n": json.Number(rapid.StringMatching(`-?[1-9][0-9]{0,18}(\.[0-9]{1,4})?`).Draw(t, "n")), "o": rapid.SampledFrom([]any{nil, true, "x", 1}).Draw(t, "o")})
			return string(b)
		},
		"noise": func(t *rapid.T) string { return word.Draw(t, "text") },
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"log", "matches", "objects"}).Draw(t, "kind")
		base := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			if rapid.IntRange(0, 60).Draw(t, "other") == 0 {
				return kinds["noise"](t)
			}
			return kinds[kind](t)
		}), 5, 40).Draw(t, "lines")
		var text []string
		for i := range 1001 + rapid.IntRange(0, 60).Draw(t, "more") {
			text = append(text, base[(i*7+i/13)%len(base)])
		}
		f := Format{MaxChars: rapid.IntRange(summaryChars, 30000).Draw(t, "chars")}.withDefaults()
		total := Captured{TotalBytes: int64(len(strings.Join(text, "\n"))), TotalLines: int64(len(text))}
		s, ok := summarizeText(text, f, total, -1)
		if again, same := summarizeText(slices.Clone(text), f, total, -1); same != ok || again.text != s.text || again.notice != s.notice {
			t.Fatal("two summaries of one text")
		}
		if !ok {
			return
		}
		if n := utf8.RuneCountInString(s.text); n > f.MaxChars || !utf8.ValidString(s.text) {
			t.Fatalf("%d characters, limit %d", n, f.MaxChars)
		}
		if n := strings.Count(s.text, "\n"); n > f.MaxLines || int(s.cut.Shown) > n {
			t.Fatalf("%d lines, %d shown", n, s.cut.Shown)
		}
		for _, want := range recount(kind, text) {
			if !strings.Contains(s.text, want) {
				t.Fatalf("lacks %q:\n%s", want, s.text)
			}
		}
	})
}

// recount says in the plainest way what a summary must say.
func recount(kind string, text []string) (wants []string) {
	n, files, level := 0, map[string]int{}, map[string]int{}
	sum, most := new(big.Rat), 0
	for _, l := range text {
		switch kind {
		case "log":
			if words := strings.Split(l, " "); strings.HasPrefix(l, "2026-") {
				n++
				level[words[1]]++
			}
		case "matches":
			if path, _, ok := strings.Cut(l, ":"); ok && strings.HasPrefix(path, "dir/") {
				n++
				files[path]++
			}
		case "objects":
			var o struct{ N json.Number }
			if strings.HasPrefix(l, "{\"") && json.Unmarshal([]byte(l), &o) == nil {
				n++
				v, _ := new(big.Rat).SetString(o.N.String())
				sum.Add(sum, v)
				if _, frac, ok := strings.Cut(o.N.String(), "."); ok {
					most = max(most, len(frac))
				}
			}
		}
	}
	switch kind {
	case "log":
		wants = append(wants, fmt.Sprint(n, " records"))
		for _, l := range []string{"INFO", "WARN", "ERROR"} {
			if level[l] > 0 {
				wants = append(wants, fmt.Sprint(l, " ", level[l]))
			}
		}
	case "matches":
		wants = append(wants, fmt.Sprintf("%d matches in %s", n, plural(len(files), "file", "files")))
		for path, count := range files {
			if len(files) <= 10 {
				wants = append(wants, fmt.Sprintf("%6d  %s\n", count, path))
			}
		}
	case "objects":
		wants = append(wants, fmt.Sprint(n, " JSON objects"), "sum "+sum.FloatString(most))
	}
	return wants
}

// R: F5, F7
func TestWhatTellsOfErrors(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"ERROR x", "a: error: b", "ValueError: no", "java.lang.NullPointerException", "could not open", "Not found", "exit: killed", "E0308", "panicked at", "构建失败", "✗ test", "3 failures"} {
		if !tellsOfError(line) {
			t.Errorf("%q is taken for nothing", line)
		}
	}
	for _, line := range []string{"", "fine", "errorless", "error_count=0", "I could tell nothing", "foundation", "E12", "E1234567", "notfound", "not  found", "构建完成"} {
		if tellsOfError(line) {
			t.Errorf("%q is taken for an error", line)
		}
	}
}

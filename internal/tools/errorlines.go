package tools

import "strings"

// errorWords are those that mark the lines that matter most when something went
// wrong; besides them, words that end in error or exception.
var errorWords = map[string]bool{
	"errors": true, "fatal": true, "panic": true, "panicked": true, "traceback": true, "fail": true, "fails": true, "failed": true, "failure": true, "failures": true,
	"denied": true, "refused": true, "cannot": true, "undefined": true, "unexpected": true, "segfault": true, "killed": true, "oom": true, "abort": true, "aborted": true,
}

// errorSigns are marks and words of other scripts, found anywhere.
var errorSigns = []string{"✗", "✖", "❌", "错误", "失败", "异常"}

// longestErrorWord bounds what is looked up.
const longestErrorWord = 10

// tellsOfError says whether a line tells of an error, by its words. It is asked of
// every line of long outputs, which an expression takes twenty times as long for.
func tellsOfError(line string) bool {
	plain := true
	before := "" // the word before, if one space stands between
	for i := 0; i < len(line); {
		if !word(line[i]) {
			plain = plain && line[i] < 0x80
			i++
			continue
		}
		start := i
		for i < len(line) && word(line[i]) {
			i++
		}
		w := line[start:i]
		if errorWord(w) || strings.EqualFold(before, "could") && strings.EqualFold(w, "not") || strings.EqualFold(before, "not") && strings.EqualFold(w, "found") {
			return true
		}
		if before = ""; i+1 < len(line) && line[i] == ' ' && word(line[i+1]) {
			before = w
		}
	}
	if plain {
		return false
	}
	for _, sign := range errorSigns {
		if strings.Contains(line, sign) {
			return true
		}
	}
	return false
}

func word(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit(c) || c == '_' }

func errorWord(w string) bool {
	switch n := len(w); {
	case n < 3:
		return false
	case (w[0]|0x20 == 'e' || w[0]|0x20 == 'f') && digit(w[1]): // E0308, F401
		return n >= 4 && n <= 6 && strings.Trim(w[1:], "0123456789") == ""
	case n >= 5 && strings.EqualFold(w[n-5:], "error"), n >= 9 && strings.EqualFold(w[n-9:], "exception"):
		return true
	case n > longestErrorWord:
		return false
	}
	var lower [longestErrorWord]byte
	for i := range len(w) {
		lower[i] = w[i] | 0x20 // letters; what else changes is no letter then either
	}
	return errorWords[string(lower[:len(w)])]
}

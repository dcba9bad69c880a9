package redact

import (
	"regexp"
	"strings"
)

// Lag is how many bytes a stream holds back at least: as long as what a card or
// an account number needs to be recognised.
const Lag = 64

// maxHeld bounds what a stream holds back for one line or key.
const maxHeld = 64 << 10

// Stream masks text that comes in pieces, such as a model's reply, so that a
// secret is found though a border falls into it. What comes out, put together,
// is what String makes of the whole text, except that a text without a line
// break for more than 64 KiB is masked in parts. It is for one goroutine.
type Stream struct {
	r    *Redactor
	held string // not yet given out
	lead string // what was given out of the line that held goes on with

	line     int    // where the line that is being written begins in held
	keys     int    // where the lines before it begin that can be a key's; line if there are none
	suggests bool   // the line says that a secret may follow
	recent   string // its end, in which a word may have begun that suggests one
}

// Stream starts a stream.
func (r *Redactor) Stream() *Stream { return &Stream{r: r} }

// Write takes the next piece and gives what can be given out, maybe nothing.
func (s *Stream) Write(piece string) string {
	s.look(piece)
	cut := s.safeCut()
	if cut == 0 {
		return ""
	}
	return s.emit(cut)
}

// Close gives the rest.
func (s *Stream) Close() string { return s.emit(len(s.held)) }

// suggestive are words after which the rest of the line may be secret.
var suggestive = regexp.MustCompile(`(?i)pass|pwd|secret|token|key|credential|bearer|basic|cookie|auth|://|private|curl|cvv|cvc|pin[^a-z]|--|\?|&|%[0-9a-f]{2}|\\`)

// longestSuggestive is at least as long as any of them.
const longestSuggestive = 16

// look takes a piece in, and looks at nothing twice: a line may be long, and come
// in many pieces.
func (s *Stream) look(piece string) {
	at := len(s.held)
	s.held += piece
	for i := at; i < len(s.held); i++ {
		if s.held[i] != '\n' {
			continue
		}
		if s.line == 0 && s.lead != "" || !keyLine(strings.TrimRight(s.held[s.line:i], "\r")) {
			s.keys = i + 1
		}
		s.line, s.suggests, s.recent = i+1, false, ""
	}
	text := s.recent + s.held[max(at, s.line):]
	s.suggests = s.suggests || suggestive.MatchString(text)
	s.recent = text[max(0, len(text)-longestSuggestive):]
}

// safeCut is how much of held no later text can make a part of a secret.
func (s *Stream) safeCut() int {
	line := s.line
	cut := line
	if begin := keyBegin.FindAllStringIndex(s.held, -1); begin != nil {
		// A key that has not ended is held whole, with the line that it begins in:
		// what stands before it there may be masked together with it.
		if last := begin[len(begin)-1]; keyEnd.FindStringIndex(s.held[last[1]:]) == nil && len(s.held)-last[0] < maxHeld {
			return min(cut, strings.LastIndexByte(s.held[:last[0]], '\n')+1)
		}
	}
	// Lines that can be a key's may turn out to be one, by its end.
	if s.keys < line && len(s.held)-s.keys < maxHeld {
		if begun, _, _ := strings.Cut(s.held[line:], "-"); begun == "" || keyLine(begun) {
			return min(cut, s.keys)
		}
	}
	longest := s.r.Longest()
	if longest > 0 && len(s.held)-cut < longest {
		cut = max(0, min(cut, len(s.held)-longest)) // a known value may hold line breaks
		cut = strings.LastIndexByte(s.held[:cut], '\n') + 1
	}
	rest := s.held[line:]
	if cut == line && !s.suggests && len(rest) > Lag+longest {
		// In prose, cut between two words of letters.
		for i := len(rest) - Lag - longest; i > 1; i-- {
			if rest[i] == ' ' && letter(rest[i-1]) && i+1 < len(rest) && letter(rest[i+1]) && lower(rest[i+1]) {
				return line + i
			}
		}
	}
	if cut == 0 && len(s.held) > maxHeld {
		return len(s.held) - maxHeld/2
	}
	return cut
}

// emit masks the first n bytes of held, seen together with what stands before
// and after them, and gives them out.
func (s *Stream) emit(n int) string {
	whole := s.lead + s.held
	from, to := len(s.lead), len(s.lead)+n
	var spans []span
	for _, sp := range s.r.find(whole) {
		if sp.end <= from || sp.start >= to {
			continue
		}
		if sp.end > to { // only when too much was held: mask to the end of it
			n += sp.end - to
			to = sp.end
		}
		spans = append(spans, span{max(sp.start, from) - from, sp.end - from, sp.name})
	}
	out := s.r.replace(s.held[:n], spans)
	line := whole[:to]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	s.lead = line[max(0, len(line)-maxHeld/16):]
	s.held, s.line, s.keys = s.held[n:], max(0, s.line-n), max(0, s.keys-n)
	return out
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == ',' || c == '.' }

func lower(c byte) bool { return c >= 'a' && c <= 'z' }

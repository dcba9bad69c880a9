package redact

import "strings"

// digitRun is where the run of digits and single separators that begins at start
// ends, and how many digits it has.
func digitRun(s string, start int) (end, n int) {
	for end = start; end < len(s); n++ {
		switch c := s[end]; {
		case kinds[c]&isDigit != 0:
			end++
		case n > 0 && (c == ' ' || c == '-') && end+1 < len(s) && kinds[s[end+1]]&isDigit != 0:
			end += 2
		default:
			return end, n
		}
	}
	return end, n
}

// cards finds payment card numbers: of a known kind, right in length and check
// digit, and standing alone or in the groups that cards are printed in.
func cards(s string) []span {
	var spans []span
	for i := 0; i < len(s); i++ {
		if kinds[s[i]]&isDigit == 0 {
			continue
		}
		end, n := digitRun(s, i)
		for at := i; n >= 13; {
			from, to, ok := nextCard(s, i, end, at)
			if !ok {
				break
			}
			spans = append(spans, span{from, to, "card"})
			at = to + 1
		}
		i = end
	}
	return spans
}

// nextCard looks for a card in the run of digits from start to end, not before
// the group that begins at from.
func nextCard(s string, start, end, from int) (at, to int, ok bool) {
	switch {
	case start > 0 && wordByte(s[start-1]) || end < len(s) && wordByte(s[end]):
		return 0, 0, false
	case start > 1 && (s[start-1] == '.' || s[start-1] == '-') && kinds[s[start-2]]&isDigit != 0:
		return 0, 0, false // the rest of a longer number
	}
	for at = from; at < end; at = groupEnd(s, at, end) + 1 {
		if s[at] < '2' || s[at] > '6' { // no card begins so; most numbers do
			continue
		}
		if to, ok = cardAt(s, start, end, at); ok {
			return at, to, true
		}
	}
	return 0, 0, false
}

// groupEnd is where the group of digits that begins at i ends.
func groupEnd(s string, i, end int) int {
	for i < end && s[i] != ' ' && s[i] != '-' {
		i++
	}
	return i
}

// cardAt is where the card that begins at ends, the longest of up to five groups.
func cardAt(s string, start, end, at int) (to int, ok bool) {
	var ends [5]int
	n := 0
	for i := at; n < len(ends) && i < end; n++ {
		ends[n] = groupEnd(s, i, end)
		i = ends[n] + 1
	}
	var sizes [5]int
	for i, from := 0, at; i < n; i++ {
		sizes[i] = ends[i] - from
		from = ends[i] + 1
	}
	for ; n > 0; n-- {
		to = ends[n-1]
		part := s[at:to]
		if strings.Contains(part, "-") && strings.Contains(part, " ") {
			continue // mixed separators: two things side by side
		}
		// With dashes on the outside it is a part of some other code.
		if at > start && s[at-1] == '-' || to < end && s[to] == '-' {
			continue
		}
		if printedAs(sizes[:n]) && isCard(part) {
			return to, true
		}
	}
	return 0, false
}

// isCard checks the digits of a number as it is printed.
func isCard(part string) bool {
	var digits [19]byte
	n := 0
	for i := range len(part) {
		if c := part[i]; c != ' ' && c != '-' {
			if n == len(digits) {
				return false
			}
			digits[n] = c
			n++
		}
	}
	return cardKind(digits[:n]) && luhn(digits[:n])
}

func printedAs(sizes []int) bool {
	switch {
	case len(sizes) == 1:
		return sizes[0] >= 13 && sizes[0] <= 19
	case len(sizes) == 3 && sizes[0] == 4 && sizes[1] == 6:
		return sizes[2] == 4 || sizes[2] == 5
	case len(sizes) >= 4:
		for _, n := range sizes[:len(sizes)-1] {
			if n != 4 {
				return false
			}
		}
		return sizes[len(sizes)-1] <= 4
	case len(sizes) == 2:
		return sizes[0] == 8 && sizes[1] == 8 || sizes[0] == 6 && sizes[1] == 13
	}
	return false
}

// cardKind says whether the number begins as a card of its length does.
func cardKind(d []byte) bool {
	n := len(d)
	has := func(from, to string) bool { p := string(d[:len(from)]); return p >= from && p <= to }
	switch {
	case n < 13 || n > 19:
		return false
	case d[0] == '4':
		return n == 13 || n == 16 || n == 19
	case has("51", "55"), has("2221", "2720"):
		return n == 16
	case has("34", "34"), has("37", "37"):
		return n == 15
	case has("300", "305"), has("36", "36"), has("38", "39"):
		return n >= 14
	case has("6011", "6011"), has("644", "649"), has("65", "65"), has("62", "62"), has("3528", "3589"):
		return n >= 16
	case has("5018", "5018"), has("5020", "5020"), has("5038", "5038"), has("6304", "6304"), has("6759", "6763"):
		return true
	}
	return false
}

func luhn(d []byte) bool {
	sum := 0
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

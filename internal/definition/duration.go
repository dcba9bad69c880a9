package definition

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span that also knows days: 30d is 720 hours.
type Duration time.Duration

// Day is 24 hours; a definition knows nothing of summer time.
const Day = 24 * time.Hour

// Std is the span as Go's own type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is the shortest text that ParseDuration reads back: 30d, 20m, 1h30m.
func (d Duration) String() string {
	s := d.Std()
	if s > 0 && s%Day == 0 && s > 3*Day {
		return strconv.FormatInt(int64(s/Day), 10) + "d"
	}
	text := s.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// ParseDuration reads a span such as 500ms, 30s, 1h30m, 72h or 30d. The unit is
// due: whether a bare 60000 means ms or s has misled people before.
func ParseDuration(s string) (Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		d, err := time.ParseDuration(s)
		return Duration(d), err
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("duration %q: want a number of days before d", s)
	}
	d := time.Duration(n) * Day
	if rest == "" {
		return Duration(d), nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 {
		return 0, fmt.Errorf("duration %q can't be read after its days", s)
	}
	return Duration(d + more), nil
}

// MarshalText writes what String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err == nil {
		*d = v
	}
	return err
}

package i18n

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Both languages group digits by three with commas and mark decimals with a
// point. A language that differs will bring its marks with its catalogue.

// Number writes a whole number: 1,840.
func Number(_ context.Context, n int64) string {
	digits := strconv.FormatInt(n, 10)
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		return "−" + group(rest)
	}
	return group(digits)
}

func group(digits string) string {
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

type magnitude struct {
	size int64
	mark string
}

var (
	thousands    = []magnitude{{1_000_000_000, "B"}, {1_000_000, "M"}, {1_000, "k"}}
	tenThousands = []magnitude{{100_000_000, "亿"}, {10_000, "万"}}
)

// Compact writes a large count in few characters: 61k, 1.2M; in Chinese, which
// counts in ten thousands, 6.1万.
func Compact(ctx context.Context, n int64) string {
	magnitudes := thousands
	if Of(ctx) == Chinese {
		magnitudes = tenThousands
	}
	for _, m := range magnitudes {
		if n < m.size {
			continue
		}
		whole, tenth := n/m.size, n%m.size*10/m.size
		if whole >= 100 || tenth == 0 {
			return Number(ctx, whole) + m.mark
		}
		return Number(ctx, whole) + "." + strconv.FormatInt(tenth, 10) + m.mark
	}
	return Number(ctx, n)
}

var currencySymbols = map[string]string{"EUR": "€", "USD": "$", "GBP": "£", "CNY": "¥"}

// Money writes an amount, given as a plain decimal ("1284.00", never a float),
// with its ISO 4217 currency: €1,284.00. An amount that is no plain decimal is
// shown as it came, beside the code: an odd sum must stay visible.
func Money(_ context.Context, amount, currency string) string {
	sign, digits := "", amount
	if rest, negative := strings.CutPrefix(amount, "-"); negative {
		sign, digits = "−", rest
	}
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return strings.TrimSpace(amount + " " + currency)
	}
	digits = group(whole)
	if hasFraction {
		digits += "." + fraction
	}
	if symbol, ok := currencySymbols[currency]; ok {
		return sign + symbol + digits
	}
	return strings.TrimSpace(sign + digits + " " + currency)
}

// Date writes a day: 30 Nov 2026; 2026年11月30日.
func Date(ctx context.Context, t time.Time) string {
	if Of(ctx) == Chinese {
		return t.Format("2006年1月2日")
	}
	return t.Format("2 Jan 2006")
}

// DateTime writes a day and a time of day with its zone: 30 Nov 2026, 14:30
// UTC. Pages carry this, and a script in the browser puts the reader's own zone
// in its place.
func DateTime(ctx context.Context, t time.Time) string {
	if Of(ctx) == Chinese {
		return Date(ctx, t) + t.Format(" 15:04 MST")
	}
	return Date(ctx, t) + t.Format(", 15:04 MST")
}

// Span writes how long something took or is away, in its two largest units:
// <0.1 s, 0.4 s, 15 s, 6m 02s, 1h 48m, 3d 4h. It doesn't write a sign: the sentence
// around it says whether that is late or still to come.
func Span(ctx context.Context, d time.Duration) string {
	d = d.Abs()
	if d > 0 && d < 100*time.Millisecond {
		return "<" + Span(ctx, 100*time.Millisecond)
	}
	if d < time.Minute {
		format := "%.0f s"
		if d < 10*time.Second {
			format = "%.1f s"
			d = d.Truncate(100 * time.Millisecond)
		} else {
			d = d.Truncate(time.Second)
		}
		if Of(ctx) == Chinese {
			format = strings.Replace(format, "s", "秒", 1)
		}
		return fmt.Sprintf(format, d.Seconds())
	}
	day, hour, minute, second := "d", "h", "m", "s"
	if Of(ctx) == Chinese {
		day, hour, minute, second = " 天", " 小时", " 分", " 秒"
	}
	big, bigUnit, small, smallUnit := int64(d/time.Minute), minute, int64(d%time.Minute/time.Second), second
	switch {
	case d >= 24*time.Hour:
		big, bigUnit, small, smallUnit = int64(d/(24*time.Hour)), day, int64(d%(24*time.Hour)/time.Hour), hour
	case d >= time.Hour:
		big, bigUnit, small, smallUnit = int64(d/time.Hour), hour, int64(d%time.Hour/time.Minute), minute
	}
	if small == 0 {
		return fmt.Sprintf("%d%s", big, bigUnit)
	}
	return fmt.Sprintf("%d%s %d%s", big, bigUnit, small, smallUnit)
}

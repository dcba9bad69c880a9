package i18n

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

// R: P7
func TestAFigureIsWrittenAsItsReaderWritesItAlsoOnceItWasStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		figure           Figure
		english, chinese string
	}{
		{Figure{Nanoseconds, int64(20 * time.Minute)}, "20m", "20 分"},
		{Figure{MicroUSD, 1_284_004_999}, "$1,284.00", "$1,284.00"},
		{Figure{"", 1840}, "1,840", "1,840"},
	} {
		stored, err := json.Marshal(Say("answer.who_did", "who", c.figure, "label", "x"))
		if err != nil {
			t.Fatal(err)
		}
		var read Message
		if err := json.Unmarshal(stored, &read); err != nil {
			t.Fatal(err)
		}
		for lang, want := range map[Language]string{English: c.english, Chinese: c.chinese} {
			ctx := With(context.Background(), lang)
			if got := c.figure.In(ctx); got != want {
				t.Errorf("%+v in %s: %q, want %q", c.figure, lang, got, want)
			}
			if got, want := read.In(ctx), T(ctx, "answer.who_did", "who", want, "label", "x"); got != want {
				t.Errorf("%+v in %s: once stored %q, want %q", c.figure, lang, got, want)
			}
		}
	}
}

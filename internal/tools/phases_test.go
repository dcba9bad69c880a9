package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The log has one line for each call, with the times of its phases.
// R: L7
func TestTheLogHasThePhasesOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := newBench(t, EffectRead, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			time.Sleep(2 * time.Second)
			_, _ = fmt.Fprint(Writer(ctx), "two\nlines\n")
			if tries++; tries == 1 {
				return Output{}, fmt.Errorf("ask: %w", io.ErrUnexpectedEOF)
			}
			return Output{}, nil
		})
		o := b.do(t.Context())
		var line struct {
			Msg, Status, Tool, Call string
			Attempts                int
			ExecuteMS               int64 `json:"execute_ms"`
			WaitMS                  int64 `json:"wait_ms"`
			FormatMS                *int  `json:"format_ms"`
			Bytes, Lines            int64
		}
		lines := strings.Split(strings.TrimSpace(b.log.String()), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
			t.Fatal(err)
		}
		if line.Tool != "x" || line.Call == "" || line.Status != "succeeded" || line.Attempts != 2 || line.ExecuteMS != 4000 || line.WaitMS != o.Phases.Wait.Milliseconds() || line.FormatMS == nil || line.Bytes != 10 || line.Lines != 2 {
			t.Errorf("%+v of %s", line, lines)
		}
	})
}

// R: F6, L5
func TestTheDigestOfBinaryOutputIsThatOfAllOfIt(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, CaptureHead - 1, CaptureHead, CaptureHead + 1, CaptureHead + CaptureTail, 3 << 20} {
		all := bytes.Repeat([]byte{0, 1, 2, 0xff, 0xfe}, size/5+1)[:size]
		var c Capture
		for rest := all; len(rest) > 0; {
			n := min(len(rest), 50001)
			_, _ = c.Write(rest[:n])
			rest = rest[n:]
		}
		sum := sha256.Sum256(all)
		out, _ := testPresenter(t, Format{}).output(Output{}, c.Read())
		if got := string(out.Data); !strings.Contains(got, hex.EncodeToString(sum[:])) || !strings.Contains(got, fmt.Sprintf(`"bytes":%d`, size)) {
			t.Errorf("%d bytes: %s", size, got)
		}
	}
}

// R: S4
func TestAnErrorDressedAsSuccessIsFoundInWhatWasWritten(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"ERROR no such order\n": Error, "no orders in the whole archive\n": Success} {
		b := newBench(t, EffectRead, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			_, _ = io.WriteString(Writer(ctx), said)
			return Output{}, nil
		}, func(s *Spec) {
			s.FailedIf = func(o Output) *Failure {
				if strings.HasPrefix(o.Text, "ERROR") {
					return Fail(NotFound, "The shop reports an error.")
				}
				return nil
			}
		})
		o := b.do(t.Context())
		if text := o.Result.ForModel(); o.Result.Status() != want || !strings.Contains(text, strings.TrimSpace(said)) {
			t.Errorf("%q: %s", said, text)
		}
	}
}

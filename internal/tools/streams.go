package tools

import (
	"context"
	"fmt"
	"io"
)

// ErrorWriter is where a tool writes what a program says on its standard error.
// It is as Writer, with a capture of its own: however much of one there is, the
// other is kept. In the result it stands below the output.
func ErrorWriter(ctx context.Context) io.Writer {
	if r := runFrom(ctx); r != nil {
		return &r.errs
	}
	return io.Discard
}

// wrote is all that the attempt wrote: its output, and below it its errors.
func (w *work) wrote() Captured {
	out, errs := w.run.out.Read(), w.run.errs.Read()
	if errs.TotalBytes == 0 {
		return out
	}
	if desc, _ := describeBinary(out); desc != nil { // the errors are what can be read
		out = capture(fmt.Sprintf("[The output is no text: %s]\n", desc))
	}
	// What is lost of the errors is lost at a place of its own.
	errs = errs.trimSeam(w.present.redactor.Longest())
	below := errs.Head
	if errs.Lost > 0 {
		below = fmt.Appendf(below, "\n[... %s not kept ...]\n", plural(int(errs.Lost), "byte was", "bytes were"))
		below = append(below, errs.Tail...)
	}
	end := &out.Head
	if out.Lost > 0 {
		end = &out.Tail
	}
	if n := len(*end); n > 0 && (*end)[n-1] != '\n' {
		*end = append(*end, '\n')
	}
	*end = append(*end, below...)
	out.ErrorsFrom = out.TotalLines + 1
	out.TotalBytes += errs.TotalBytes
	out.TotalLines += errs.TotalLines
	return out
}

// aboutErrors says which lines are errors; empty if none are.
func (c Captured) aboutErrors() string {
	switch {
	case c.ErrorsFrom == 0:
		return ""
	case c.ErrorsFrom == 1:
		return "All of this was written to standard error."
	case c.Lost > 0:
		return fmt.Sprintf("The last %d lines were written to standard error.", c.TotalLines-c.ErrorsFrom+1)
	}
	return fmt.Sprintf("What stands from line %d on was written to standard error.", c.ErrorsFrom)
}

package tools

import (
	"bytes"

	"baton/internal/redact"
)

// Stored is the plan as it may be stored and shown: arguments and the refusal's
// texts without secrets. changed says that the arguments are not whole any more:
// seal Call.Args (or Call.Raw) beside it if the call is still to run.
func (p Plan) Stored(r *redact.Redactor, tools *Registry) (stored Plan, changed bool) {
	spec := tools.tools[p.Call.Tool].spec
	if r = r.Written(); spec.Always {
		r = r.Words()
	}
	pr := presenter{redactor: r.With(redact.Sensitive(p.Call.Args, spec.Sensitive), spec.Sensitive), spec: spec}
	stored = p
	if p.Call.Args != nil {
		stored.Call.Args = pr.redactor.JSON(p.Call.Args)
		changed = !bytes.Equal(stored.Call.Args, p.Call.Args)
	}
	if p.Call.Raw != "" {
		stored.Call.Raw = pr.text(p.Call.Raw)
		changed = changed || stored.Call.Raw != p.Call.Raw
	}
	stored.Call.Reason = pr.text(p.Call.Reason)
	if p.Result != nil {
		res := p.Result.scrubbed(pr)
		stored.Result = &res
	}
	return stored, changed
}

// scrubbed is r with every text cleaned and redacted. Results of Execute are so
// already; it is for those that Prepare makes.
func (r Result) scrubbed(p presenter) Result {
	w := r.w
	w.Message, w.Causes, w.Hint = p.text(w.Message), p.texts(w.Causes), p.texts(w.Hint)
	w.Context, w.Example, w.Data = p.json(w.Context), p.json(w.Example), p.json(w.Data)
	w.Errors = append([]FieldError(nil), w.Errors...)
	for i, e := range w.Errors {
		w.Errors[i] = FieldError{p.text(e.Path), p.text(e.Expected), p.text(e.Got)}
	}
	w.State = p.text(w.State)
	w.Completed, w.Failed, w.Skipped = p.items(w.Completed), p.items(w.Failed), p.items(w.Skipped)
	w.Notices = p.texts(w.Notices)
	return Result{w}
}

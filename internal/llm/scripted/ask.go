package scripted

import (
	"fmt"

	"go.starlark.net/starlark"
)

// askBuiltin is call("ask_human", ...) with the fields of a question. Fields
// that the author left out are not sent, but for those whose value says what
// kind of question it is.
func askBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		question, title, problem, recommended, reason, reasonCode string

		options    starlark.Iterable
		parameters starlark.IterableMapping
		facts      starlark.Iterable
		kind       = "options"
		allowOther bool
		trigger    = "ambiguous_decision"
		priority   = "normal"
	)
	err := starlark.UnpackArgs(b.Name(), args, kwargs,
		"question", &question, "options?", &options, "title?", &title, "problem?", &problem,
		"recommended?", &recommended, "reason?", &reason, "reason_code?", &reasonCode,
		"parameters?", &parameters, "facts?", &facts, "kind?", &kind, "allow_other?", &allowOther,
		"trigger?", &trigger, "priority?", &priority)
	if err != nil {
		return nil, err
	}
	if err := checkOptions(b.Name(), options); err != nil {
		return nil, err
	}
	var f fields
	f.text("question", question)
	if options != nil {
		f.add("options", options)
	}
	f.text("title", title)
	f.text("problem", problem)
	f.text("recommended", recommended)
	f.text("reason", reason)
	f.text("reason_code", reasonCode)
	if parameters != nil && bool(parameters.Truth()) {
		f.add("parameters", parameters)
	}
	if facts != nil && bool(facts.Truth()) {
		f.add("facts", facts)
	}
	f.text("kind", kind)
	if allowOther {
		f.add("allow_other", starlark.True)
	}
	f.text("trigger", trigger)
	f.text("priority", priority)
	return newCall(b.Name(), "ask_human", f)
}

// checkOptions finds the author's slip (a call or a say where an option is due)
// at its line; what makes a good question is the tool's to judge.
func checkOptions(who string, options starlark.Iterable) error {
	if options == nil {
		return nil
	}
	it := options.Iterate()
	defer it.Done()
	var o starlark.Value
	for i := 0; it.Next(&o); i++ {
		switch o.(type) {
		case starlark.String, *starlark.Dict, *object:
		default:
			return fmt.Errorf("%s: options[%d] is a %s, want option(...) or a label", who, i, o.Type())
		}
	}
	return nil
}

func optionBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		label, consequence string
		id, action         starlark.Value
		recommended        bool
	)
	err := starlark.UnpackArgs(b.Name(), args, kwargs,
		"label", &label, "consequence", &consequence, "id??", &id, "action??", &action, "recommended?", &recommended)
	if err != nil {
		return nil, err
	}
	var f fields
	f.text("label", label)
	f.text("consequence", consequence)
	if id != nil {
		text, ok := starlark.AsString(id)
		if !ok {
			return nil, fmt.Errorf("%s: id is a %s, want a string", b.Name(), id.Type())
		}
		f.text("id", text)
	}
	if action != nil {
		if call, ok := action.(*item); !ok || call.kind != itemCall {
			return nil, fmt.Errorf("%s: action is a %s, want call(...)", b.Name(), action.Type())
		}
		f.add("action", action)
	}
	if recommended {
		f.add("recommended", starlark.True)
	}
	d := starlark.NewDict(len(f))
	for _, kv := range f {
		if err := d.SetKey(kv[0], kv[1]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// finishBuiltin is call("finish", ...). A result may stand for its call id in
// the evidence. "unverified" is not to be had here: it is the harness's word.
func finishBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		summary                       string
		evidence, unresolved, derived starlark.Iterable
		status                        = "done"
	)
	err := starlark.UnpackArgs(b.Name(), args, kwargs,
		"summary", &summary, "evidence?", &evidence, "status?", &status, "unresolved?", &unresolved, "derived?", &derived)
	if err != nil {
		return nil, err
	}
	switch status {
	case "done", "partly", "unable":
	default:
		return nil, fmt.Errorf(`%s: status is %q, want "done", "partly" or "unable"`, b.Name(), status)
	}
	var f fields
	f.text("summary", summary)
	f.text("status", status)
	refs, err := evidenceRefs(evidence)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	f.add("evidence", refs)
	if unresolved != nil && bool(unresolved.Truth()) {
		f.add("unresolved", unresolved)
	}
	if derived != nil && bool(derived.Truth()) {
		f.add("derived", derived)
	}
	return newCall(b.Name(), "finish", f)
}

func evidenceRefs(evidence starlark.Iterable) (*starlark.List, error) {
	if evidence == nil {
		return starlark.NewList(nil), nil
	}
	var refs []starlark.Value
	it := evidence.Iterate()
	defer it.Done()
	var e starlark.Value
	for it.Next(&e) {
		if r, ok := e.(*record); ok && r.kind == "result" {
			id, err := r.Attr("call_id")
			if err != nil {
				return nil, err
			}
			e = id
		}
		refs = append(refs, e)
	}
	return starlark.NewList(refs), nil
}

// fields are a call's arguments in the order in which they are written.
type fields []starlark.Tuple

func (f *fields) add(name string, v starlark.Value) {
	*f = append(*f, starlark.Tuple{starlark.String(name), v})
}

// text adds a string unless it is empty.
func (f *fields) text(name, s string) {
	if s != "" {
		f.add(name, starlark.String(s))
	}
}

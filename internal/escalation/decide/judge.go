package decide

import (
	"strings"

	"baton/internal/escalation"
	"baton/internal/problem"
	"baton/internal/redact"
	"baton/internal/tools"
)

// judge says whether an answer fits the question, and makes the decision that
// it is, with the approvals that it gives.
func judge(row Row, a Answer) (d escalation.Decision, approvals []escalation.Approval, err error) {
	q := row.Question
	if !q.Allows(a.Type) {
		allowed := make([]string, len(q.Allowed))
		for i, t := range q.Allowed {
			allowed[i] = string(t)
		}
		return d, nil, problem.New(problem.Invalid, "answer_type_not_allowed",
			problem.Params{"type": string(a.Type), "allowed": strings.Join(allowed, ", ")}).At("type")
	}
	if err := onlyItsFields(a); err != nil {
		return d, nil, err
	}
	d = escalation.Decision{Type: a.Type, Message: a.Message, Rationale: a.Rationale, EditedArgs: a.EditedArgs, Values: a.Values}
	switch a.Type {
	case escalation.Choose:
		return choose(q, a.Option, d)
	case escalation.Approve:
		approvals = []escalation.Approval{{Tool: q.ActionRequest.Tool, Digest: q.ActionRequest.Digest}}
	case escalation.Edit:
		if err := fits(q.ActionRequest, a, row.Tokens); err != nil {
			return d, nil, err
		}
		approvals = []escalation.Approval{{Tool: q.ActionRequest.Tool, Args: a.EditedArgs}}
	case escalation.Respond:
		err = respond(q, row.Kind, a)
	}
	return d, approvals, err
}

// onlyItsFields refuses an answer that says two things at once: to approve with
// edited arguments may mean either.
func onlyItsFields(a Answer) error {
	unexpected := func(field string) error {
		return problem.New(problem.Invalid, "answer_field_unexpected", problem.Params{"field": field, "type": string(a.Type)}).At(field)
	}
	switch {
	case a.Option != "" && a.Type != escalation.Choose:
		return unexpected("option_id")
	case a.EditedArgs != nil && a.Type != escalation.Edit:
		return unexpected("edited_args")
	case a.Values != nil && a.Type != escalation.Respond:
		return unexpected("values")
	}
	return nil
}

func choose(q escalation.Question, name string, d escalation.Decision) (escalation.Decision, []escalation.Approval, error) {
	o, ok := q.Find(name)
	if !ok {
		ids := make([]string, len(q.Options))
		for i, o := range q.Options {
			ids[i] = o.ID
		}
		return d, nil, problem.New(problem.Invalid, "option_unknown",
			problem.Params{"option": name, "options": strings.Join(ids, ", ")}).At("option_id")
	}
	d.OptionID, d.Option, d.Label = o.ID, o.Key, o.Label
	if o.Action == nil {
		return d, nil, nil
	}
	return d, []escalation.Approval{{Tool: o.Action.Tool, Digest: o.Action.Digest}}, nil
}

// fits holds edited arguments to the schema of the tool as it was when it was
// asked, with what their placeholders stand for. A tool that has changed since
// voids the approval at dispatch.
func fits(action *escalation.Action, a Answer, tokens *redact.Tokens) error {
	if a.EditedArgs == nil {
		return problem.New(problem.Invalid, "edited_args_invalid", problem.Params{"tool": action.Tool}).At("edited_args")
	}
	clear, _, misplaced := tokens.PutBack(a.EditedArgs)
	misfits := escalation.Misfits(action.Schema, clear)
	for _, m := range misplaced {
		misfits = append(misfits, tools.FieldError{Path: m.Path, Expected: "a value, or a placeholder of this session", Got: m.Mark})
	}
	if len(misfits) > 0 {
		return problem.New(problem.Invalid, "edited_args_invalid", problem.Params{"tool": action.Tool}).At("edited_args").With("errors", misfits)
	}
	return nil
}

func respond(q escalation.Question, kind escalation.Kind, a Answer) error {
	if kind != escalation.KindInput || len(q.ResponseSchema) == 0 {
		switch {
		case a.Values != nil:
			return problem.New(problem.Invalid, "answer_field_unexpected", problem.Params{"field": "values", "type": string(a.Type)}).At("values")
		case a.Message == "":
			return problem.New(problem.Invalid, "message_missing", nil).At("message")
		}
		return nil
	}
	if a.Values == nil {
		return problem.New(problem.Invalid, "values_invalid", nil).At("values")
	}
	if misfits := escalation.Misfits(q.ResponseSchema, a.Values); len(misfits) > 0 {
		return problem.New(problem.Invalid, "values_invalid", nil).At("values").With("errors", misfits)
	}
	return nil
}

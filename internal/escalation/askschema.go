package escalation

import (
	"encoding/json"

	"baton/internal/i18n"
)

// AskSchema is the JSON Schema of ask_human's arguments.
const AskSchema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["question"],
  "properties": {
    "question": {"type": "string", "description": "What a person is to decide, as one whole question with a question mark."},
    "options": {
      "type": "array", "maxItems": 6,
      "description": "The ways to go on, 2 to 6. They are shown as A, B, C, ...",
      "items": {"anyOf": [
        {"type": "string", "description": "Only a label."},
        {"type": "object", "additionalProperties": false, "required": ["label"], "properties": {
          "label": {"type": "string", "description": "Begins with a verb: Refund in full."},
          "consequence": {"type": "string", "description": "What happens if it is chosen, in one sentence."},
          "id": {"type": "string", "description": "A short key that means the same in every such question: refund."},
          "action": {"type": "object", "additionalProperties": false, "required": ["tool", "args"],
            "description": "Exactly the call that you will make if it is chosen. Choosing it approves that call.",
            "properties": {"tool": {"type": "string"}, "args": {"type": "object"}}},
          "recommended": {"type": "boolean"}}}
      ]}
    },
    "title": {"type": "string", "description": "The matter in one line."},
    "problem": {"type": "string", "description": "Why you can't decide it. What was done and tried is added from the log."},
    "recommended": {"type": "string", "description": "Id or letter of the option that you recommend."},
    "reason": {"type": "string", "description": "Why you recommend it."},
    "reason_code": {"type": "string", "description": "The kind of case: duplicate_charge."},
    "parameters": {"type": "object", "description": "The case's values, each with a name: {\"amount\": {\"value\": \"240.00\", \"currency\": \"EUR\"}}."},
    "facts": {
      "type": "array", "maxItems": 12, "description": "The values that decide it, each with the call that it comes from.",
      "items": {"type": "object", "additionalProperties": false, "required": ["label", "value"], "properties": {
        "label": {"type": "string"}, "value": {"type": ["string", "number", "boolean"]}, "call_id": {"type": "string"}}}
    },
    "kind": {"type": "string", "enum": ["options", "input", "failed"], "description": "options: choose. input: fill in response_schema. failed: you can't go on."},
    "allow_other": {"type": "boolean", "description": "Whether an answer in other words is welcome."},
    "trigger": {"type": "string", "enum": ["sensitive_action", "ambiguous_decision", "repeated_failure", "budget_exhausted", "tool_blocked", "poison_loop", "external_input"]},
    "priority": {"type": "string", "enum": ["low", "normal", "high"]},
    "response_schema": {"type": "object", "description": "For input: a flat JSON Schema of the form, at most 12 fields of text, number, true/false or a choice."}
  }
}`

// AskExample is a question that is asked well.
const AskExample = `{"question": "Order 8812 was charged twice. Shall I refund the second charge?",
 "title": "Second charge on order 8812",
 "problem": "Refunds over 100 EUR are not mine to decide.",
 "options": [
  {"label": "Refund the second charge", "id": "refund", "consequence": "The customer gets 240.00 EUR back within five days."},
  {"label": "Leave both charges", "id": "leave", "consequence": "The customer is told why."}],
 "recommended": "refund", "reason": "Both charges have the same time and amount.",
 "reason_code": "duplicate_charge", "trigger": "ambiguous_decision"}`

// offerWaysOut gives a failure without options the usual ones, in the server's
// words.
func (a *Ask) offerWaysOut() {
	a.Sentences = map[string]i18n.Message{}
	add := func(id string, label, consequence i18n.Message) {
		a.Options = append(a.Options, AskOption{ID: id, Label: english(label), Consequence: english(consequence)})
		a.Sentences["options."+id+".label"], a.Sentences["options."+id+".consequence"] = label, consequence
	}
	add("retry", i18n.Say("escalation.failed.retry"), i18n.Say("escalation.failed.retry_then"))
	add("hand-over", i18n.Say("escalation.failed.hand_over"), i18n.Say("escalation.failed.hand_over_then"))
	add("give-up", i18n.Say("escalation.failed.give_up"), i18n.Say("escalation.failed.give_up_then"))
}

// form checks the schema of an input: flat, and small enough to fill in.
func (c *checker) form() {
	schema := notNull(c.ask.ResponseSchema)
	if len(schema) == 0 {
		c.vague("/response_schema", "a JSON Schema of what is to be filled in", "nothing")
		return
	}
	var form struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &form) != nil || form.Type != "object" || len(form.Properties) == 0 {
		c.wrong("/response_schema", "an object with properties", "another schema")
		return
	}
	if n := len(form.Properties); n > maxFields {
		c.wrong("/response_schema/properties", "at most 12 fields", "more")
	}
	for name, property := range form.Properties {
		var field struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(property, &field) != nil {
			field.Type = ""
		}
		switch field.Type {
		case "string", "number", "integer", "boolean":
		default:
			c.wrong("/response_schema/properties/"+name+"/type", "string, number, integer or boolean", field.Type)
		}
	}
	if _, err := compile(schema); err != nil {
		c.wrong("/response_schema", "a JSON Schema that can be used", err.Error())
	}
}

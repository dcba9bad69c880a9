package escalation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"baton/internal/tools"
)

// whole refuses to load schemas from elsewhere.
type whole struct{}

func (whole) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema refers to %s: schemas must be whole", url)
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(whole{})
	c.AssertFormat()
	if err := c.AddResource("mem:values", doc); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return c.Compile("mem:values")
}

// Misfits lists what keeps a document from fitting a schema; none if it fits.
func Misfits(schema, doc json.RawMessage) []tools.FieldError {
	s, err := compile(schema)
	if err != nil {
		return []tools.FieldError{{Path: "", Expected: "a schema", Got: err.Error()}}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return []tools.FieldError{{Path: "", Expected: "JSON", Got: err.Error()}}
	}
	err = s.Validate(v)
	if err == nil {
		return nil
	}
	var misfits []tools.FieldError
	if ve, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		leaves(ve, &misfits)
	}
	if len(misfits) == 0 {
		misfits = []tools.FieldError{{Path: "", Expected: "a document that fits the schema", Got: err.Error()}}
	}
	return misfits
}

func leaves(e *jsonschema.ValidationError, out *[]tools.FieldError) {
	for _, cause := range e.Causes {
		leaves(cause, out)
	}
	if len(e.Causes) > 0 || len(*out) == 20 {
		return
	}
	var path strings.Builder
	for _, step := range e.InstanceLocation {
		path.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	said := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	*out = append(*out, tools.FieldError{Path: path.String(), Expected: said, Got: "something else"})
}

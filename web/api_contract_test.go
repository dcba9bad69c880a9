package web

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"baton/web/api"
)

// contract is the API's document and the schemas that were compiled out of it.
type contract struct {
	document object

	mu       sync.Mutex // of the compiler
	compiler *jsonschema.Compiler
}

const documentURL = "http://localhost/openapi.json"

var theContract = sync.OnceValues(func() (*contract, error) {
	text, err := api.Document()
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	c := &contract{document: document.(map[string]any), compiler: jsonschema.NewCompiler()}
	c.compiler.AssertFormat()
	return c, c.compiler.AddResource(documentURL, document)
})

func escaped(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// at is the object behind a pointer into the document, and its own pointer if
// what stands there is a reference. It is nil if there is nothing.
func (c *contract) at(pointer string) (object, string) {
	var v any = map[string]any(c.document)
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch at := v.(type) {
		case map[string]any:
			v = at[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(at) {
				return nil, ""
			}
			v = at[i]
		default:
			return nil, ""
		}
	}
	o, _ := v.(map[string]any)
	if ref := object(o).text("$ref"); ref != "" {
		return c.at(strings.TrimPrefix(ref, "#"))
	}
	return o, pointer
}

// operation is the pointer to the operation that serves a path, "" if none does.
func (c *contract) operation(method, path string) string {
	paths, _ := c.at("/paths")
	for _, template := range slices.Sorted(maps.Keys(paths)) {
		if fits(template, path) {
			pointer := "/paths/" + escaped(template) + "/" + strings.ToLower(method)
			if o, _ := c.at(pointer); o != nil {
				return pointer
			}
		}
	}
	return ""
}

func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, "{") && g != "" })
}

// queryOf are the query parameters of an operation, sorted.
func (c *contract) queryOf(method, path string) (names []string) {
	at := c.operation(method, path) + "/parameters"
	for i := 0; ; i++ {
		parameter, _ := c.at(at + "/" + strconv.Itoa(i))
		if parameter == nil {
			slices.Sort(names)
			return names
		}
		if parameter["in"] == "query" {
			names = append(names, parameter.text("name"))
		}
	}
}

// check holds a JSON text to the schema behind a pointer.
func (c *contract) check(pointer, text string) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	c.mu.Lock()
	schema, err := c.compiler.Compile(documentURL + "#" + pointer)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// conforms says what in an exchange isn't as the document has it.
func conforms(method, path, body string, a answer) error {
	c, err := theContract()
	if err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	operation := c.operation(method, path)
	if operation == "" { // no such operation: a problem in any case
		if a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed && a.status != http.StatusUnauthorized {
			return fmt.Errorf("an operation that isn't in the document answered %d", a.status)
		}
		return c.check("/components/schemas/Problem", a.body)
	}
	response, at := c.at(operation + "/responses/" + strconv.Itoa(a.status))
	if response == nil {
		if a.status < 400 {
			return fmt.Errorf("the document doesn't know status %d here", a.status)
		}
		response, at = c.at(operation + "/responses/default")
	}
	if response == nil {
		return fmt.Errorf("the document knows no problems here")
	}
	for _, name := range []string{"ETag", "Location", "Idempotent-Replayed"} {
		if declared, _ := c.at(at + "/headers/" + name); declared == nil && a.header.Get(name) != "" && a.status != http.StatusNotModified {
			return fmt.Errorf("the document doesn't know the header %s here", name)
		}
	}
	content, _ := c.at(at + "/content")
	if content == nil {
		if a.body != "" {
			return fmt.Errorf("the document knows no body here")
		}
		return nil
	}
	if content[kind] == nil {
		return fmt.Errorf("the document doesn't know the content type %q here", kind)
	}
	if err := c.check(at+"/content/"+escaped(kind)+"/schema", a.body); err != nil {
		return err
	}
	if a.status < 300 && body != "" && body != "{}" {
		return c.check(operation+"/requestBody/content/application~1json/schema", body)
	}
	return nil
}

package api

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// The document is written by hand, a file for each kind of resource, since it
// is read by people first: what a field means is said there and nowhere else.
//
//go:embed openapi/*.yaml
var pieces embed.FS

// Document is the OpenAPI 3.1 document of this API, as JSON.
func Document() (json.RawMessage, error) { return joined() }

var joined = sync.OnceValues(func() (json.RawMessage, error) {
	whole := map[string]any{}
	files, err := pieces.ReadDir("openapi")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := pieces.ReadFile("openapi/" + file.Name())
		if err != nil {
			return nil, err
		}
		var piece map[string]any
		if err := yaml.Unmarshal(text, &piece); err != nil {
			return nil, fmt.Errorf("read %s: %w", file.Name(), err)
		}
		if err := merge(whole, piece); err != nil {
			return nil, fmt.Errorf("read %s: %w", file.Name(), err)
		}
	}
	return json.Marshal(whole)
})

// merge adds a piece to the whole. Objects are joined; nothing is said twice.
func merge(whole, piece map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(piece)) {
		old, has := whole[key]
		if !has {
			whole[key] = piece[key]
			continue
		}
		inside, isObject := old.(map[string]any)
		more, areObjects := piece[key].(map[string]any)
		if !isObject || !areObjects {
			return fmt.Errorf("%s is said twice", key)
		}
		if err := merge(inside, more); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// index is what whoever tries the bare address is told.
func (a *API) index(Request) (Reply, error) {
	return ok(struct {
		Name     string            `json:"name"`
		Document string            `json:"document"`
		Key      string            `json:"key"`
		Lists    map[string]string `json:"lists"`
	}{
		Name: "Baton", Document: Prefix + "/openapi.json",
		Key: "Send a key as Authorization: Bearer baton_... It is made on the server with: server key create --help",
		Lists: map[string]string{
			"sessions": Prefix + "/sessions", "escalations": Prefix + "/escalations",
			"decisions": Prefix + "/decisions", "agents": Prefix + "/agents",
		},
	})
}

func (a *API) document(Request) (Reply, error) {
	body, err := Document()
	return Reply{Status: http.StatusOK, Body: body}, err
}

package definition

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxTools bounds a folder of declared tools.
const maxTools = 500

// ReadTools reads all declared tools of a folder, by name: each .yaml or .yml file
// is one. The error is about a folder that can't be read.
func ReadTools(dir string) (map[string]DeclaredTool, Faults, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("read declared tools: %w", err)
	}
	all, faults := map[string]DeclaredTool{}, Faults{}
	for _, e := range entries {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		if e.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		if len(all) == maxTools {
			return all, append(faults, Fault{File: dir, Reason: fmt.Sprintf("there are more than %d tools", maxTools)}), nil
		}
		path := filepath.Join(dir, e.Name())
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read declared tool: %w", err)
		}
		t, wrong := ParseTool(path, source)
		faults = append(faults, wrong...)
		if other, twice := all[t.Name]; twice && t.Name != "" {
			faults = append(faults, Fault{File: path, Path: "name", Reason: fmt.Sprintf("%s has a tool of this name already", other.File)})
		}
		if len(wrong) == 0 {
			all[t.Name] = t
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.File, b.File) })
	return all, faults, nil
}

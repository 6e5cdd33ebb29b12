package protocol

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol/schema"
)

// The keys for the JSON schemas that a state's result and input must fit.
const (
	keyResultSchema = "result_schema"
	keyInputSchema  = "input_schema"
)

// readSchema reads the key result_schema or input_schema. Its value is a schema, or the name of a
// file in the workflow that contains one.
func (v value) readSchema() {
	text, name := "", v.name
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() != "!!bool" {
		file, ok := v.text()
		if !ok {
			return
		}
		if text, ok = v.schemaIn(file); !ok {
			return
		}
		name += " " + file
	} else {
		var tree any
		err := v.node.Decode(&tree)
		data, jsonErr := json.Marshal(tree)
		if err = errors.Join(err, jsonErr); err != nil {
			v.problem("schema", "%s can't be written in JSON: %v", v.name, err)
			return
		}
		text = string(data)
	}
	parsed, wrong := schema.Parse(text)
	policy := &v.state.Policy
	switch {
	case wrong != nil:
		v.problem("schema", "%s: %v", name, wrong)
	case v.name == keyResultSchema:
		policy.ResultSchema = parsed
	default:
		policy.InputSchema = parsed
	}
}

// schemaIn returns the text of a schema file in the workflow, and records the file's hash. If the
// file can't be read, schemaIn adds a problem and ok is false.
func (v value) schemaIn(name string) (text string, ok bool) {
	if !strings.HasSuffix(strings.ToLower(name), ".json") || strings.ContainsAny(name, "/\\\x00") {
		v.problem("schema", "%s is %s, not a schema and not the name of a .json file of the workflow", v.name, Quote(name))
		return "", false
	}
	v.state.SchemaFiles = append(v.state.SchemaFiles, name)
	scope := v.state.scope
	entry, ok := scope.files[name]
	switch {
	case !ok:
		v.problem("schema", "%s: there is no file %s beside the states", v.name, Quote(name)).Hint = DidYouMean(name, slices.Sorted(maps.Keys(scope.files)))
		return "", false
	case !entry.Type().IsRegular():
		v.problem("schema", "%s: %s is not a regular file", v.name, Quote(name))
		return "", false
	}
	data, err := ReadFile(scope.fsys, name)
	if err != nil {
		v.problem("schema", "%s: read %s: %v", v.name, Quote(name), err)
		return "", false
	}
	scope.schemas[name] = hashOf(data)
	return strings.TrimPrefix(string(data), byteOrderMark), true
}

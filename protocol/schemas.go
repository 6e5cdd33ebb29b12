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
// file in the workflow that contains one. The hash of such a file is recorded.
func (v value) readSchema() {
	text, name := "", v.name
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() != "!!bool" {
		file, ok := v.text()
		if !ok {
			return
		}
		if !strings.HasSuffix(strings.ToLower(file), ".json") || strings.ContainsAny(file, "/\\\x00") {
			v.problem("schema", "%s is %s, not a schema and not the name of a .json file of the workflow", v.name, Quote(file))
			return
		}
		v.state.SchemaFiles = append(v.state.SchemaFiles, file)
		scope := v.state.scope
		entry, ok := scope.files[file]
		switch {
		case !ok:
			v.problem("schema", "%s: there is no file %s beside the states", v.name, Quote(file)).Hint = DidYouMean(file, slices.Sorted(maps.Keys(scope.files)))
			return
		case !entry.Type().IsRegular():
			v.problem("schema", "%s: %s is not a regular file", v.name, Quote(file))
			return
		}
		data, err := ReadFile(scope.fsys, file)
		if err != nil {
			v.problem("schema", "%s: read %s: %v", v.name, Quote(file), err)
			return
		}
		scope.schemas[file] = hashOf(data)
		text, name = strings.TrimPrefix(string(data), byteOrderMark), name+" "+file
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

package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol/schema"
)

// The keys that say which JSON texts may come in and go out.
const (
	keyResultSchema = "result_schema"
	keyInputSchema  = "input_schema"
)

// setSchema makes a schema that of a key.
func (p *Policy) setSchema(key string, s *schema.Schema) {
	if key == keyResultSchema {
		p.ResultSchema = s
		return
	}
	p.InputSchema = s
}

// readSchema reads a schema, or the name of a file that schemaReader will read.
func (v value) readSchema() {
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() != "!!bool" {
		v.readSchemaName()
		return
	}
	var tree any
	err := v.node.Decode(&tree)
	text, jsonErr := json.Marshal(tree)
	if err = errors.Join(err, jsonErr); err != nil {
		v.problem("schema", "%s can't be written in JSON: %v", v.name, err)
		return
	}
	parsed, wrong := schema.Parse(string(text))
	if wrong != nil {
		v.problem("schema", "%s: %v", v.name, wrong)
		return
	}
	v.state.Policy.setSchema(v.name, parsed)
}

func (v value) readSchemaName() {
	name, ok := v.text()
	switch {
	case !ok:
	case !strings.HasSuffix(strings.ToLower(name), ".json") || strings.ContainsAny(name, "/\\\x00"):
		v.problem("schema", "%s is %s, not a schema and not the name of a .json file of the workflow", v.name, Quote(name))
	default:
		v.state.SchemaFiles = append(v.state.SchemaFiles, SchemaFile{v.name, name, PosOf(v.node)})
	}
}

// schemaReader reads the schemas of states from files of the scope.
type schemaReader struct {
	fsys  fs.FS
	files map[string]fs.DirEntry
	sums  map[string]string // SHA-256 of the files that were read, in hex
}

func (r schemaReader) read(s *State) {
	for _, f := range s.SchemaFiles {
		entry, ok := r.files[f.Name]
		switch {
		case !ok:
			s.addProblem(f.Pos, "schema", "%s: there is no file %s beside the states", f.Key, Quote(f.Name)).Hint = DidYouMean(f.Name, slices.Sorted(maps.Keys(r.files)))
			continue
		case !entry.Type().IsRegular():
			s.addProblem(f.Pos, "schema", "%s: %s is not a regular file", f.Key, Quote(f.Name))
			continue
		}
		data, err := readFile(r.fsys, f.Name)
		if err != nil {
			s.addProblem(f.Pos, "schema", "%s: read %s: %v", f.Key, Quote(f.Name), err)
			continue
		}
		sum := sha256.Sum256(data)
		r.sums[f.Name] = hex.EncodeToString(sum[:])
		parsed, wrong := schema.Parse(string(bytes.TrimPrefix(data, []byte(byteOrderMark))))
		if wrong != nil {
			s.addProblem(f.Pos, "schema", "%s %s: %v", f.Key, f.Name, wrong)
			continue
		}
		s.Policy.setSchema(f.Key, parsed)
	}
}

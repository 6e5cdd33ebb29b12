package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"slices"
	"strconv"
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

// readSchema reads the value of a key: a schema, or the name of a file that schemaReader
// will read.
func (s *State) readSchema(v value) {
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() != "!!bool" {
		s.readSchemaName(v)
		return
	}
	tree, ok := v.tree()
	if !ok {
		return
	}
	text, _ := json.Marshal(tree) // it has nothing that JSON has not
	parsed, wrong := schema.Parse(string(text))
	if wrong != nil {
		s.addProblem(posOf(nodeAt(v.node, wrong.Place)), "schema", "%s: %v", v.name, wrong)
		return
	}
	s.Policy.setSchema(v.name, parsed)
}

func (s *State) readSchemaName(v value) {
	name, ok := v.text()
	switch {
	case !ok:
	case !strings.HasSuffix(strings.ToLower(name), ".json") || strings.ContainsAny(name, "/\\\x00"):
		v.problem("schema", "%s is %s, not a schema and not the name of a .json file of the workflow", v.name, Quote(name))
	default:
		s.SchemaFiles = append(s.SchemaFiles, SchemaFile{v.name, name, posOf(v.node)})
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
			s.addProblem(f.Pos, "schema", "%s: there is no file %s beside the states", f.Key, Quote(f.Name)).Hint = DidYouMean(f.Name, r.jsonFiles())
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

func (r schemaReader) jsonFiles() []string {
	var names []string
	for name := range r.files {
		if strings.HasSuffix(strings.ToLower(name), ".json") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tree returns a value in the types that JSON has.
func (v value) tree() (any, bool) {
	switch v.node.Kind {
	case yaml.MappingNode:
		return v.object()
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range v.node.Content {
			child, ok := v.entry(v.name, item).tree()
			if !ok {
				return nil, false
			}
			list = append(list, child)
		}
		return list, true
	}
	return v.scalar()
}

func (v value) object() (any, bool) {
	object := map[string]any{}
	for i := 0; i < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		if !v.state.checkKey(key) {
			return nil, false
		}
		child, ok := v.entry(v.name, v.node.Content[i+1]).tree()
		if !ok {
			return nil, false
		}
		object[key.Value] = child
	}
	return object, true
}

// scalar returns a scalar in a type that JSON has. A date is a string there, and JSON knows
// neither 0x10 nor .inf.
func (v value) scalar() (any, bool) {
	n := v.node
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value, true
	case "!!null", "!!bool", "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.RawMessage(n.Value), true
		}
		var decoded any
		err := n.Decode(&decoded)
		if _, jsonErr := json.Marshal(decoded); err == nil && jsonErr == nil {
			return decoded, true
		}
	}
	v.problem("schema", "%s: %s can't be written in JSON", v.name, describe(n))
	return nil, false
}

// nodeAt returns the node that a JSON pointer leads to, or the last one on the way there.
func nodeAt(n *yaml.Node, pointer string) *yaml.Node {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		next := childOf(n, unescape.Replace(part))
		if next == nil {
			break
		}
		n = next
	}
	return n
}

func childOf(n *yaml.Node, name string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

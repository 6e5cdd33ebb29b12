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
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol/schema"
)

// The keys that say which JSON texts may come in and go out.
const (
	keyResultSchema = "result_schema"
	keyInputSchema  = "input_schema"
)

var schemaKeys = map[string]func(*State, value){
	keyResultSchema: func(s *State, v value) { s.readSchema(v) },
	keyInputSchema:  func(s *State, v value) { s.readSchema(v) },
}

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
	text, ok := v.json()
	if !ok {
		return
	}
	parsed, wrong := schema.Parse(text)
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
		v.problem("schema", "%s is %s, not a schema and not the name of a .json file of the workflow", v.name, quote(name))
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
			s.addProblem(f.Pos, "schema", "%s: there is no file %s beside the states", f.Key, quote(f.Name)).Hint = didYouMean(f.Name, r.jsonFiles())
			continue
		case !entry.Type().IsRegular():
			s.addProblem(f.Pos, "schema", "%s: %s is not a regular file", f.Key, quote(f.Name))
			continue
		}
		data, err := readFile(r.fsys, f.Name)
		if err != nil {
			s.addProblem(f.Pos, "schema", "%s: read %s: %v", f.Key, quote(f.Name), err)
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

// json returns a value as JSON.
func (v value) json() (string, bool) {
	var b strings.Builder
	ok := v.writeJSON(&b)
	return b.String(), ok
}

func (v value) writeJSON(b *strings.Builder) bool {
	switch v.node.Kind {
	case yaml.MappingNode:
		return v.writeObject(b)
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range v.node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if !v.entry(v.name, item).writeJSON(b) {
				return false
			}
		}
		b.WriteByte(']')
		return true
	}
	text, ok := scalarJSON(v.node)
	if !ok {
		v.problem("schema", "%s: %s can't be written in JSON", v.name, describe(v.node))
	}
	b.WriteString(text)
	return ok
}

func (v value) writeObject(b *strings.Builder) bool {
	b.WriteByte('{')
	for i := 0; i < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		if !v.state.checkKey(key) {
			return false
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(jsonString(key.Value) + ":")
		if !v.entry(v.name, v.node.Content[i+1]).writeJSON(b) {
			return false
		}
	}
	b.WriteByte('}')
	return true
}

// scalarJSON returns a scalar of YAML as JSON. A date is a string there.
func scalarJSON(n *yaml.Node) (string, bool) {
	switch n.ShortTag() {
	case "!!null":
		return "null", true
	case "!!bool":
		return strings.ToLower(n.Value), true
	case "!!str", "!!timestamp":
		return jsonString(n.Value), true
	case "!!int", "!!float":
		return numberJSON(n)
	}
	return "", false
}

// numberJSON returns a number of YAML as JSON, which knows neither 0x10 nor .inf.
func numberJSON(n *yaml.Node) (string, bool) {
	if json.Valid([]byte(n.Value)) {
		return n.Value, true
	}
	var whole int64
	if n.Decode(&whole) == nil {
		return strconv.FormatInt(whole, 10), true
	}
	var broken float64
	if n.Decode(&broken) != nil {
		return "", false
	}
	text, err := json.Marshal(broken)
	return string(text), err == nil
}

func jsonString(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic("internal error: a string that is no JSON: " + err.Error())
	}
	return string(text)
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

// anyJSON is the schema that allows every JSON value.
var anyJSON = sync.OnceValue(func() *schema.Schema {
	s, wrong := schema.Parse("true")
	if wrong != nil {
		panic("internal error: " + wrong.String())
	}
	return s
})

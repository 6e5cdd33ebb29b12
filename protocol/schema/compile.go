package schema

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// unsupported lists keywords that authors may expect to work, but that this package does not
// evaluate. Some of them belong to this draft, the others to earlier drafts.
var unsupported = []string{
	"unevaluatedProperties", "unevaluatedItems", "$anchor", "$dynamicAnchor", "$dynamicRef",
	"dependencies", "additionalItems", "$recursiveRef", "$recursiveAnchor",
}

// The keywords whose value is a schema, a list of schemas, or an object that contains schemas.
var (
	withOne   = []string{"additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else"}
	withList  = []string{"prefixItems", "allOf", "anyOf", "oneOf"}
	withNamed = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// node is the whole schema of a document, or a subschema in it.
type node struct {
	content any
	pointer string // JSON pointer to the schema
}

// in returns the node for a schema inside n. names is the path from n to that schema.
func (n node) in(content any, names ...string) node {
	for _, name := range names {
		n.pointer = below(n.pointer, name)
	}
	return node{content, n.pointer}
}

// subschemas returns the direct subschemas of a schema.
func (n node) subschemas() []node {
	object, _ := n.content.(map[string]any)
	var subs []node
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch {
		case slices.Contains(withOne, key):
			subs = append(subs, n.in(object[key], key))
		case slices.Contains(withList, key):
			list, _ := object[key].([]any)
			for i, content := range list {
				subs = append(subs, n.in(content, key, strconv.Itoa(i)))
			}
		case slices.Contains(withNamed, key):
			named, _ := object[key].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(named)) {
				subs = append(subs, n.in(named[name], key, name))
			}
		}
	}
	return subs
}

// compile converts a document to a Schema, or returns why the document can't be used. It must not
// crash on documents that are no valid schemas, because Parse checks that only afterwards.
func compile(doc any) (*Schema, *Violation) {
	s := &Schema{nodes: map[string]node{}, patterns: map[string]*regexp.Regexp{}}
	if v := s.add(node{content: doc}); v != nil {
		return nil, v
	}
	for _, place := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[place]
		object, _ := n.content.(map[string]any)
		text, ok := object["$ref"].(string)
		switch _, known := s.resolve(text); {
		case !ok || known:
		case !strings.HasPrefix(text, "#"):
			return nil, n.refused("$ref", "%q is not in this schema, and nothing else is read; write #/$defs/NAME", shorten(text))
		default:
			return nil, n.refused("$ref", "there is no schema at %q", shorten(text))
		}
	}
	return s, nil
}

// add adds a schema and its subschemas to s, recursively. It returns a Violation if one of them
// can't be used.
func (s *Schema) add(n node) *Violation {
	s.nodes[n.pointer] = n
	object, _ := n.content.(map[string]any)
	if v := cmp.Or(checkKeywords(n, object), s.addPatterns(n, object)); v != nil {
		return v
	}
	for _, sub := range n.subschemas() {
		if v := s.add(sub); v != nil {
			return v
		}
	}
	return nil
}

// refused returns a Violation for a keyword that can't be used.
func (n node) refused(key, format string, args ...any) *Violation {
	return &Violation{Pointer: shorten(below(n.pointer, key)), Message: shorten(fmt.Sprintf(format, args...))}
}

// checkKeywords rejects unsupported keywords, and keywords that would make the schema depend on
// other schemas.
func checkKeywords(n node, object map[string]any) *Violation {
	if of, ok := object["$schema"]; ok && (n.pointer != "" || of != dialect && of != dialect+"#") {
		return n.refused("$schema", "only %s is possible, at the top", dialect)
	}
	if _, ok := object["$id"]; ok && n.pointer != "" {
		return n.refused("$id", "only the whole schema can have an id")
	}
	for _, key := range unsupported {
		if _, ok := object[key]; ok {
			return n.refused(key, "the keyword is not supported: see docs/language.md#answers-that-are-checked")
		}
	}
	return nil
}

// addPatterns compiles the regular expressions in a schema. Package regexp accepts only
// expressions whose matching time is proportional to the length of the text.
func (s *Schema) addPatterns(n node, object map[string]any) *Violation {
	named, _ := object["patternProperties"].(map[string]any)
	for _, text := range slices.Sorted(maps.Keys(named)) {
		if v := s.addPattern(n, "patternProperties", text); v != nil {
			return v
		}
	}
	if text, ok := object["pattern"].(string); ok {
		return s.addPattern(n, "pattern", text)
	}
	return nil
}

// addPattern compiles the regular expression of a keyword. It returns a Violation if the
// expression is not valid.
func (s *Schema) addPattern(n node, key, text string) *Violation {
	re, err := regexp.Compile(text)
	if err != nil {
		return n.refused(key, "%v is not a valid regular expression (RE2): %v", quoted(text), err)
	}
	s.patterns[text] = re
	return nil
}

// resolve returns the schema that a reference points to. The boolean is false if the reference
// points to no schema of the document.
func (s *Schema) resolve(text string) (node, bool) {
	name, isHere := strings.CutPrefix(text, "#")
	place, err := url.PathUnescape(name)
	n, ok := s.nodes[place]
	return n, ok && isHere && err == nil
}

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

// unknown are keywords that are not looked at, which people may expect to work: some of this draft, and those of earlier ones.
var unknown = []string{
	"unevaluatedProperties", "unevaluatedItems", "$anchor", "$dynamicAnchor", "$dynamicRef",
	"dependencies", "additionalItems", "$recursiveRef", "$recursiveAnchor",
}

// The keywords that have a schema, a list of schemas, and schemas by name.
var (
	withOne   = []string{"additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else"}
	withList  = []string{"prefixItems", "allOf", "anyOf", "oneOf"}
	withNamed = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// node is one schema of a document.
type node struct {
	says  any
	place string // JSON pointer to it
}

// in returns a schema within this one, by the names that lead to it.
func (n node) in(says any, names ...string) node {
	for _, name := range names {
		n.place = below(n.place, name)
	}
	return node{says, n.place}
}

// parts returns the schemas that a schema has directly.
func (n node) parts() []node {
	object, _ := n.says.(map[string]any)
	var parts []node
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch {
		case slices.Contains(withOne, key):
			parts = append(parts, n.in(object[key], key))
		case slices.Contains(withList, key):
			list, _ := object[key].([]any)
			for i, says := range list {
				parts = append(parts, n.in(says, key, strconv.Itoa(i)))
			}
		case slices.Contains(withNamed, key):
			named, _ := object[key].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(named)) {
				parts = append(parts, n.in(named[name], key, name))
			}
		}
	}
	return parts
}

// survey makes a Schema of a document, and finds what can't be used in it. It also bears documents
// that the schema of schemas refuses.
func survey(doc any) (*Schema, *Violation) {
	s := &Schema{nodes: map[string]node{}, patterns: map[string]*regexp.Regexp{}}
	if v := s.add(node{says: doc}); v != nil {
		return nil, v
	}
	for _, place := range slices.Sorted(maps.Keys(s.nodes)) {
		if v := s.checkReference(s.nodes[place]); v != nil {
			return nil, v
		}
	}
	return s, nil
}

// add adds a schema and all within it.
func (s *Schema) add(n node) *Violation {
	s.nodes[n.place] = n
	object, _ := n.says.(map[string]any)
	if v := cmp.Or(checkKeywords(n, object), s.addPatterns(n, object)); v != nil {
		return v
	}
	for _, part := range n.parts() {
		if v := s.add(part); v != nil {
			return v
		}
	}
	return nil
}

// refused says why a keyword can't be used.
func (n node) refused(key, format string, args ...any) *Violation {
	return &Violation{Pointer: shorten(below(n.place, key)), Message: shorten(fmt.Sprintf(format, args...))}
}

// checkKeywords refuses what would make the schema depend on other ones.
func checkKeywords(n node, object map[string]any) *Violation {
	if of, ok := object["$schema"]; ok && (n.place != "" || of != dialect && of != dialect+"#") {
		return n.refused("$schema", "only %s is possible, at the top", dialect)
	}
	if _, ok := object["$id"]; ok && n.place != "" {
		return n.refused("$id", "only the whole schema can have an id")
	}
	for _, key := range unknown {
		if _, ok := object[key]; ok {
			return n.refused(key, "the keyword is not known here: docs/language.md#answers-that-are-checked names those that are not")
		}
	}
	return nil
}

// addPatterns compiles the regular expressions of a schema. They are all of those that need time in
// proportion to the text.
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

func (s *Schema) addPattern(n node, key, text string) *Violation {
	re, err := regexp.Compile(text)
	if err != nil {
		return n.refused(key, "%v is not valid regex: it is no RE2 pattern: %v", quoted(text), err)
	}
	s.patterns[text] = re
	return nil
}

// checkReference refuses one that leads out of the document, or to something in it that is no schema.
func (s *Schema) checkReference(n node) *Violation {
	object, _ := n.says.(map[string]any)
	text, ok := object["$ref"].(string)
	switch _, known := s.lead(text); {
	case !ok || known:
		return nil
	case !strings.HasPrefix(text, "#"):
		return n.refused("$ref", "%q is not in this schema, and nothing else is read; write #/$defs/NAME", shorten(text))
	}
	return n.refused("$ref", "there is no schema at %q", shorten(text))
}

// lead returns the schema that a reference leads to.
func (s *Schema) lead(text string) (node, bool) {
	name, isHere := strings.CutPrefix(text, "#")
	place, err := url.PathUnescape(name)
	n, ok := s.nodes[place]
	return n, ok && isHere && err == nil
}

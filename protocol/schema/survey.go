package schema

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// older are keywords of earlier drafts, which people may expect to work.
var older = []string{"dependencies", "$recursiveRef", "$recursiveAnchor"}

// The keywords that have a schema, a list of schemas, and schemas by name. Nothing is held to
// contentSchema, but references may lead to it.
var (
	withOne = []string{
		"additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else",
		"unevaluatedProperties", "unevaluatedItems", "contentSchema",
	}
	withList  = []string{"prefixItems", "allOf", "anyOf", "oneOf"}
	withNamed = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// node is one schema of a document.
type node struct {
	says  any
	place string // JSON pointer to it
}

// in returns a schema within this one, by the names that lead to it.
func (n node) in(says any, names ...string) node { return node{says, n.place + pointer(names)} }

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
	s := &Schema{nodes: map[string]node{}, anchors: map[string]string{}, patterns: map[string]*regexp.Regexp{}}
	if v := s.add(node{says: doc}); v != nil {
		return nil, v
	}
	for _, place := range slices.Sorted(maps.Keys(s.nodes)) {
		if v := s.checkReferences(s.nodes[place]); v != nil {
			return nil, v
		}
	}
	return s, nil
}

// add adds a schema and all within it.
func (s *Schema) add(n node) *Violation {
	s.nodes[n.place] = n
	object, _ := n.says.(map[string]any)
	for _, check := range []func(node, map[string]any) *Violation{checkKeywords, s.addAnchors, s.addPatterns} {
		if v := check(n, object); v != nil {
			return v
		}
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
	return &Violation{Place: shorten(n.place + pointer([]string{key})), Message: shorten(fmt.Sprintf(format, args...))}
}

// checkKeywords refuses what would make the schema depend on other ones.
func checkKeywords(n node, object map[string]any) *Violation {
	if of, ok := object["$schema"]; ok && (n.place != "" || of != dialect && of != dialect+"#") {
		return n.refused("$schema", "only %s is possible, at the top", dialect)
	}
	if _, ok := object["$id"]; ok && n.place != "" {
		return n.refused("$id", "only the whole schema can have an id")
	}
	for _, key := range older {
		if _, ok := object[key]; ok {
			return n.refused(key, "the keyword is of an earlier draft, not of 2020-12")
		}
	}
	return nil
}

func (s *Schema) addAnchors(n node, object map[string]any) *Violation {
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		name, ok := object[key].(string)
		if !ok {
			continue
		}
		if at, known := s.anchors[name]; known && at != n.place {
			return n.refused(key, "the name %q is that of another schema, too", shorten(name))
		}
		s.anchors[name] = n.place
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

// checkReferences refuses one that leads out of the document, or to something in it that is no schema.
func (s *Schema) checkReferences(n node) *Violation {
	object, _ := n.says.(map[string]any)
	for _, key := range []string{"$ref", "$dynamicRef"} {
		text, ok := object[key].(string)
		if _, known := s.lead(text); !ok || known {
			continue
		}
		if !strings.HasPrefix(text, "#") {
			return n.refused(key, "%q is not in this schema, and nothing else is read; write #/$defs/NAME", shorten(text))
		}
		return n.refused(key, "there is no schema at %q", shorten(text))
	}
	return nil
}

// lead returns the schema that a reference leads to.
func (s *Schema) lead(text string) (node, bool) {
	name, isHere := strings.CutPrefix(text, "#")
	place, err := url.PathUnescape(name)
	if at, ok := s.anchors[place]; ok {
		place = at
	}
	n, ok := s.nodes[place]
	return n, ok && isHere && err == nil
}

// Package schema holds JSON texts to JSON Schemas (draft 2020-12) of workflows. It has no
// side effects and fetches nothing. A check is bounded in steps; the texts, which strangers may have
// written, are bounded in size and depth.
package schema

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// Schema says which JSON values are allowed. It doesn't change, and may be used by several
// goroutines at once.
type Schema struct {
	nodes    map[string]node // all schemas of the document, by JSON pointer
	patterns map[string]*regexp.Regexp
}

// Violation is one thing that is wrong with a text.
type Violation struct {
	// Pointer is a JSON pointer into the text, "" for all of it.
	Pointer string
	// Rule is a JSON pointer to the keyword of the schema that the text breaks; "" when the
	// text is no JSON that this package reads.
	Rule    string
	Message string
	// Description is what the schema with the rule describes, in the schema's own words.
	Description string
}

// String says what is wrong, where, and by which rule.
func (v Violation) String() string {
	text := v.Message
	if v.Pointer != "" {
		text = "at " + v.Pointer + ": " + text
	}
	if v.Rule != "" {
		text += " (rule " + v.Rule + ")"
	}
	return text
}

// dialect is the one value that $schema may have.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Parse reads a schema. The Violation says why the text is no schema that can be used.
func Parse(text string) (*Schema, *Violation) {
	doc, v := read(text)
	if v != nil {
		return nil, v
	}
	s, v := survey(doc)
	if v != nil {
		return nil, v
	}
	if found := schemaOfSchemas().CheckValue(doc); found != nil {
		found[0].Rule = "" // of a schema that nobody has at hand
		return nil, &found[0]
	}
	return s, nil
}

// Check holds a text to the schema. It returns what is wrong, at most a few things, and
// nothing when the text is one JSON value that the schema allows.
func (s *Schema) Check(text string) []Violation {
	value, v := read(text)
	if v != nil {
		return []Violation{*v}
	}
	return s.CheckValue(value)
}

// CheckValue is Check for a value, as encoding/json reads it.
func (s *Schema) CheckValue(value any) []Violation {
	var found []Violation
	for _, f := range s.failures(value) {
		found = append(found, Violation{Pointer: shorten(f.at), Rule: cmp.Or(shorten(f.schema+f.keyword), "/"), Message: f.message + tried(f.tried), Description: f.about})
	}
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	found = slices.Compact(found)
	if more := len(found) - most; more > 0 {
		found = append(found[:most], Violation{Message: fmt.Sprintf("%d more of these", more)})
	}
	return found
}

// maxSteps limits how often parts of a value are checked and failures passed on. Schemas that refer to each other can double the steps
// with each reference, and no signal ends the program while it checks.
const maxSteps = 1_000_000

func (s *Schema) failures(value any) []failure {
	steps := 0
	found := (&check{Schema: s, steps: &steps}).of(s.nodes[""], value, "")
	if steps > maxSteps {
		return []failure{{message: fmt.Sprintf("the check takes more than %d steps: simplify the schema, or make the value smaller", maxSteps)}}
	}
	return found
}

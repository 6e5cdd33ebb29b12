// Package schema checks JSON texts against the JSON Schemas (draft 2020-12) in workflows. It has no
// side effects and fetches nothing. Strangers may have written the texts, so the number of steps of
// a check is limited, and so are the size and the depth of texts.
package schema

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// Schema defines which JSON values are allowed. It is immutable and safe for concurrent use.
type Schema struct {
	nodes    map[string]node // all schemas of the document, by JSON pointer
	patterns map[string]*regexp.Regexp
}

// Violation is one mistake in a text.
type Violation struct {
	// Pointer is a JSON pointer into the text. If empty, it means the whole text.
	Pointer string
	// Rule is a JSON pointer to the keyword in the schema that the text breaks. It is empty if the
	// text is not JSON that this package accepts, or if the text is a schema that Parse rejects.
	Rule    string
	Message string
	// Description is the value of the keyword description in the schema that contains the rule.
	Description string
}

// String returns the message, with the JSON pointer into the text and the rule if they are set.
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

// dialect is the only value that $schema may have.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Parse reads a schema. If the text is not a schema that can be used, the Violation contains the
// reason.
func Parse(text string) (*Schema, *Violation) {
	doc, v := read(text)
	if v != nil {
		return nil, v
	}
	s, v := compile(doc)
	if v != nil {
		return nil, v
	}
	if found := schemaOfSchemas().CheckValue(doc); found != nil {
		found[0].Rule = "" // it points into the schema of schemas, which users don't have
		return nil, &found[0]
	}
	return s, nil
}

// Check checks a text against the schema, and returns at most a few violations. It returns none if
// the text is one JSON value that the schema allows.
func (s *Schema) Check(text string) []Violation {
	value, v := read(text)
	if v != nil {
		return []Violation{*v}
	}
	return s.CheckValue(value)
}

// CheckValue is like Check, for a value that is already decoded in the way of encoding/json.
func (s *Schema) CheckValue(value any) []Violation {
	var found []Violation
	for _, f := range s.failures(value) {
		found = append(found, Violation{Pointer: shorten(f.at), Rule: cmp.Or(shorten(f.schema+f.keyword), "/"), Message: f.message + reasons(f.alternatives), Description: f.description})
	}
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	found = slices.Compact(found)
	if more := len(found) - maxViolations; more > 0 {
		found = append(found[:maxViolations], Violation{Message: fmt.Sprintf("%d more of these", more)})
	}
	return found
}

// maxSteps limits the number of steps of a check. Each comparison of a value with a schema is a
// step, and so is each failure that such a comparison returns. Schemas that refer to each other can
// double the number of steps with each reference, and a signal can't end the program during a check.
const maxSteps = 1_000_000

// failures checks a value against the whole schema, and returns the failures.
func (s *Schema) failures(value any) []failure {
	steps := 0
	found := (&check{Schema: s, steps: &steps}).evaluate(s.nodes[""], value, "")
	if steps > maxSteps {
		return []failure{{message: fmt.Sprintf("the check takes more than %d steps: simplify the schema, or make the value smaller", maxSteps)}}
	}
	return found
}

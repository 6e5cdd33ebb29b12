// Package schema holds JSON texts to JSON Schemas (draft 2020-12) of workflows. It has no
// side effects, fetches nothing, and bounds what a schema or a text of strangers can cost in
// time and memory.
package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema says which JSON values are allowed. It doesn't change, and may be used by several
// goroutines at once.
type Schema struct {
	doc     any               // with a format for each object in it, by which steps are counted
	weights map[string]weight // by format
}

// Violation is one thing that is wrong with a text.
type Violation struct {
	// Place is a JSON pointer into the text, "" for all of it.
	Place string
	// Rule is a JSON pointer to the keyword of the schema that the text breaks; "" when the
	// text is no JSON that this package reads.
	Rule    string
	Message string
}

// String says what is wrong, where, and by which rule.
func (v Violation) String() string {
	text := v.Message
	if v.Place != "" {
		text = "at " + v.Place + ": " + text
	}
	if v.Rule != "" {
		text += " (rule " + v.Rule + ")"
	}
	return text
}

// location is what the library calls the schema by. Nothing is there.
const location = "https://raymond.invalid/schema"

// dialect is the one value that $schema may have.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Parse reads a schema. The Violation says why the text is no schema that can be used.
func Parse(text string) (*Schema, *Violation) {
	doc, v := read(text, limits{bytes: 256 << 10, values: 20_000, depth: 64})
	if v != nil {
		return nil, v
	}
	p := preparer{schema: &Schema{weights: map[string]weight{}}, places: map[string]bool{}}
	p.schema.doc = p.prepare(doc, "")
	if p.checkReferences(); p.wrong != nil {
		return nil, p.wrong
	}
	if _, err := p.schema.compile(&meter{}); err != nil {
		return nil, ofCompiler(err)
	}
	return p.schema, nil
}

// nowhere loads no schema from anywhere.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not in this schema", url)
}

// compile returns a validator that counts its steps. It is for one use.
func (s *Schema) compile(m *meter) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	c.AssertFormat()
	for name, w := range s.weights {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error { return m.visit(w, v) }})
	}
	c.UseRegexpEngine(m.pattern)
	if err := c.AddResource(location, s.doc); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

// Check holds a text to the schema. It returns what is wrong, at most a few things, and
// nothing when the text is one JSON value that the schema allows.
func (s *Schema) Check(text string) []Violation {
	value, v := read(text, limits{bytes: 1 << 20, values: 20_000, depth: 64})
	if v != nil {
		return []Violation{*v}
	}
	m := newMeter()
	compiled, err := s.compile(m)
	if err != nil {
		return []Violation{*ofCompiler(err)}
	}
	err = compiled.Validate(value)
	var invalid *jsonschema.ValidationError
	switch {
	case m.isSpent:
		return []Violation{{Message: "to check it against the schema takes too long"}}
	case errors.As(err, &invalid):
		return violations(invalid)
	case err != nil:
		return []Violation{{Message: shorten(err.Error())}}
	}
	return nil
}

// ofCompiler says what the library finds wrong with a schema.
func ofCompiler(err error) *Violation {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var inner *jsonschema.ValidationError
		if errors.As(invalid.Err, &inner) {
			v := violations(inner)[0]
			v.Rule = "" // of the schema of schemas, which nobody has at hand
			return &v
		}
	}
	var pattern *jsonschema.InvalidRegexError
	if errors.As(err, &pattern) {
		return &Violation{Place: fragment(pattern.URL), Message: fmt.Sprintf("the pattern %q can't be used: %v", shorten(pattern.Regex), pattern.Err)}
	}
	return &Violation{Message: shorten(strings.ReplaceAll(err.Error(), location, ""))}
}

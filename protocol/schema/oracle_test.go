package schema

import (
	"errors"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"gotest.tools/v3/assert"
)

// libraryFindings returns the result of another implementation of the standard: whether it accepts
// the schema, and which values in the text break which rules.
func libraryFindings(t testing.TB, schema, text string) (isSchema bool, found []string) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return false, nil
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	assert.NilError(t, c.AddResource("https://raymond.invalid/schema", doc))
	compiled, err := c.Compile("https://raymond.invalid/schema")
	if err != nil {
		return false, nil
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	assert.NilError(t, err)
	var wrong *jsonschema.ValidationError
	if errors.As(compiled.Validate(value), &wrong) {
		found = leafFindings(wrong)
	}
	return true, distinct(found)
}

// leafFindings returns the findings in an error of the library, without their consequences for the
// values and schemas that contain them.
func leafFindings(err *jsonschema.ValidationError) []string {
	isLeaf := len(err.Causes) == 0
	switch err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		isLeaf = true
	}
	if !isLeaf {
		var all []string
		for _, cause := range err.Causes {
			all = append(all, leafFindings(cause)...)
		}
		return all
	}
	_, escaped, _ := strings.Cut(err.SchemaURL, "#")
	rule, _ := url.PathUnescape(escaped)
	if _, ok := err.ErrorKind.(*kind.PropertyNames); ok { // the library doesn't report the name
		return []string{"a name " + rule}
	}
	return []string{pointer(err.InstanceLocation) + " " + rule + pointer(err.ErrorKind.KeywordPath())}
}

// pointer returns the JSON pointer that consists of the given names.
func pointer(names []string) (place string) {
	for _, name := range names {
		place = below(place, name)
	}
	return place
}

// distinct sorts findings and removes duplicates.
func distinct(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// ownFindings returns the result of this package, in the form that libraryFindings returns.
func ownFindings(s *Schema, text string) []string {
	value, v := read(text)
	if v != nil {
		return []string{v.String()}
	}
	var found []string
	for _, f := range s.failures(value) {
		place := f.at
		if f.keyword == "/propertyNames" {
			place = "a name"
		}
		found = append(found, place+" "+f.schema+f.keyword)
	}
	return distinct(found)
}

// wantAgreement checks that this package and the library return the same findings.
func wantAgreement(t testing.TB, schema, text string) {
	s, v := Parse(schema)
	isSchema, want := libraryFindings(t, schema, text)
	assert.Assert(t, v != nil || isSchema, "schema %s: it is taken, and the library refuses it", schema)
	if v != nil {
		// This package rejects some schemas for a reason that the library doesn't have.
		reasons := []string{"is possible, at the top", "can have an id", "is not in this schema", "there is no schema at", "(RE2)"}
		isStricter := slices.ContainsFunc(reasons, func(part string) bool { return strings.Contains(v.Message, part) })
		assert.Assert(t, !isSchema || isStricter, "schema %s: got %v, and the library takes it", schema, v)
		return
	}
	if got := ownFindings(s, text); !slices.Equal(got, want) {
		t.Fatalf("schema %s\ntext %s\ngot:\n%s\nlibrary:\n%s", schema, text, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAgreesWithLibrary compares this package with another implementation, with random schemas
// and texts.
func TestAgreesWithLibrary(t *testing.T) {
	for _, text := range []string{"[1]", "[1,1]", "[]"} { // random texts rarely contain so many items
		wantAgreement(t, `{"contains":{"const":1},"minContains":0,"maxContains":1}`, text)
	}
	wantAgreement(t, `{"patternProperties":{"^a":true},"additionalProperties":false}`, `{"a":1,"b":2}`)
	wantAgreement(t, `{"properties":{"$id":{"const":{"not":{"a":1}}},"not":{"enum":[{"items":{"b":1}}]}}}`, `{"$id":1,"not":{"items":{"b":2}}}`) // $id and not are names of members here, not keywords
	for seed := range uint64(400) {
		g := generator{rand.New(rand.NewPCG(seed, 18))}
		schema := g.schema(3)
		if g.IntN(2) == 0 && strings.HasPrefix(schema, "{") && schema != "{}" {
			schema = `{"$defs":{"a":` + g.schema(2) + `,"b/c %":` + g.schema(1) + `},` + schema[1:]
		}
		for range 5 {
			wantAgreement(t, schema, g.value(3))
		}
	}
}

// generator generates random schemas and random values.
type generator struct{ *rand.Rand }

// pick returns one of the texts.
func (g generator) pick(all ...string) string { return all[g.IntN(len(all))] }

// list returns a JSON array with at most the given number of items. It calls the function one for
// each item.
func (g generator) list(most int, one func() string) string {
	var all []string
	for range g.IntN(most + 1) {
		all = append(all, one())
	}
	return "[" + strings.Join(all, ",") + "]"
}

// object returns a JSON object. It calls the function one for the value of each member. The larger
// most is, the more members the object may have.
func (g generator) object(most int, one func() string) string {
	var all []string
	for _, name := range []string{`"a"`, `"b"`, `"ab"`, `"c/d"`, `"~é"`} {
		if g.IntN(6) < most {
			all = append(all, name+":"+one())
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

// simple returns a JSON value that is neither an array nor an object.
func (g generator) simple() string {
	return g.pick("null", "true", "false", "0", "1", "1.0", "-2", "0.5", "1e2", "100", "12345", "-1234.25", "3", `""`, `"a"`, `"ab"`, `"it's \"é\""`)
}

// value returns a JSON value of limited depth.
func (g generator) value(depth int) string {
	inner := func() string { return g.value(depth - 1) }
	switch {
	case depth == 0 || g.IntN(3) == 0:
		return g.simple()
	case g.IntN(2) == 0:
		return g.list(4, inner)
	}
	return g.object(3, inner)
}

// schema returns a JSON schema of limited depth, which may be invalid.
func (g generator) schema(depth int) string {
	if depth == 0 || g.IntN(12) == 0 {
		return g.pick("true", "false", "{}", `{"type":"string"}`, `{"minimum":1}`, `{"minLength":2}`, `{"type":["integer","null"]}`, `{"const":1}`, `{"$ref":"#/$defs/a"}`)
	}
	inner := func() string { return g.schema(depth - 1) }
	number := func() string { return g.pick("0", "1", "2", "3.0") }
	some := func() string { return "[" + inner() + "," + inner() + "]" }
	keywords := map[string]func() string{
		"type": func() string {
			return g.pick(`"string"`, `"object"`, `"array"`, `"integer"`, `["number","array","object"]`, `["object","string"]`)
		},
		"const": func() string { return g.value(1) }, "enum": func() string { return g.list(4, func() string { return g.value(1) }) },
		"minimum": g.numeric, "exclusiveMinimum": g.numeric, "maximum": g.numeric, "exclusiveMaximum": g.numeric,
		"multipleOf": func() string { return g.pick("2", "0.1", "1e3", "0") },
		"minLength":  number, "maxLength": number, "minItems": number, "maxItems": number, "minProperties": number, "maxProperties": number,
		"contains":             func() string { return inner() + g.pick("", `,"minContains":2`, `,"minContains":0,"maxContains":1`) },
		"uniqueItems":          func() string { return g.pick("true", "true", "false", "1") },
		"pattern":              func() string { return g.pick(`"^a"`, `"b$"`, `"é"`, `"("`) },
		"required":             func() string { return g.pick(`[]`, `["a"]`, `["a","b","c/d"]`, `["a","a"]`) },
		"properties":           func() string { return g.object(3, inner) },
		"patternProperties":    func() string { return `{` + g.pick(`"^a"`, `"/"`, `""`) + `:` + inner() + `}` },
		"additionalProperties": inner, "propertyNames": inner,
		"dependentSchemas":  func() string { return g.object(2, inner) },
		"dependentRequired": func() string { return g.pick(`{"a":["b"]}`, `{"c/d":["a","ab"]}`) },
		"prefixItems":       some, "items": inner, "not": inner, "if": inner, "then": inner, "else": inner,
		"allOf": some, "anyOf": some, "oneOf": some,
		"$ref": func() string { return g.pick(`"#/$defs/a"`, `"#/$defs/b~1c%20%25"`, `"#"`, `"#x"`) }, "title": func() string { return g.pick(`"a"`, `"b"`, `1`) },
	}
	var names []string
	for name := range keywords {
		names = append(names, name)
	}
	slices.Sort(names)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var all []string
	for _, name := range names[:1+g.IntN(4)] {
		all = append(all, `"`+name+`":`+keywords[name]())
	}
	return "{" + strings.Join(all, ",") + "}"
}

// numeric returns a limit for numbers, which is sometimes a string and thus invalid.
func (g generator) numeric() string {
	return g.pick("0", "1", "-2.5", "1e2", "1234.5", "20000", "0.001", `"1"`)
}

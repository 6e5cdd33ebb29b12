package schema

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// check compares one value with one schema.
type check struct {
	*Schema
	node
	object   map[string]any // the schema, if it is an object
	value    any
	at       string // JSON pointer to the value
	above    *check // the check that started this one
	failures []failure
	steps    *int // number of steps of the whole check so far; all checks share it
}

// failure describes one keyword that a value breaks.
type failure struct {
	schema       string // JSON pointer to the schema
	at           string // JSON pointer to the value
	keyword      string // JSON pointer to the keyword, relative to the schema
	message      string
	description  string    // description of the schema
	alternatives []failure // the first failure of each alternative
}

// fail records that the value breaks a keyword. The caller may add alternatives to the returned
// failure.
func (c *check) fail(keyword, format string, args ...any) *failure {
	f := failure{schema: c.pointer, at: c.at, keyword: keyword, message: shorten(fmt.Sprintf(format, args...))}
	f.description, _ = c.object["description"].(string)
	c.failures = append(c.failures, f)
	return &c.failures[len(c.failures)-1]
}

// evaluate checks a value against a schema, and returns the failures. at is the JSON pointer to the
// value. After maxSteps, it checks nothing and returns nil.
func (c *check) evaluate(n node, value any, at string) []failure {
	if *c.steps++; *c.steps > maxSteps {
		return nil
	}
	sub := &check{Schema: c.Schema, node: n, value: value, at: at, above: c, steps: c.steps}
	sub.object, _ = n.content.(map[string]any)
	sub.run()
	*c.steps += len(sub.failures)
	return sub.failures
}

// self checks the current value against another schema, and returns the failures.
func (c *check) self(n node) []failure { return c.evaluate(n, c.value, c.at) }

// require checks the current value against another schema, and records the failures.
func (c *check) require(n node) { c.failures = append(c.failures, c.self(n)...) }

// requirePart checks a member of the current object, or an item of the current array, against a
// schema, and records the failures.
func (c *check) requirePart(n node, name string, value any) {
	c.failures = append(c.failures, c.evaluate(n, value, below(c.at, name))...)
}

// run checks the value against every keyword of the schema.
func (c *check) run() {
	switch {
	case c.content == false:
		c.fail("", "false schema")
		return
	case c.repeats():
		c.fail("", "the schema refers to itself endlessly")
		return
	case !c.isTyped() || !c.isExact():
		return
	}
	if text, ok := c.object["$ref"].(string); ok {
		to, _ := c.resolve(text)
		c.require(to)
	}
	switch v := c.value.(type) {
	case map[string]any:
		c.checkObject(v)
	case []any:
		c.checkArray(v)
	case string:
		c.checkLimits(float64(utf8.RuneCountInString(v)), "minLength", "maxLength")
		if re, ok := c.object["pattern"].(string); ok && !c.patterns[re].MatchString(v) {
			c.fail("/pattern", "%v does not match pattern %v", quoted(v), quoted(re))
		}
	case float64:
		c.checkLimits(v, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
	}
	c.combine()
}

// repeats reports whether the same value is already being checked against the same schema.
func (c *check) repeats() bool {
	for up := c.above; up.above != nil && up.at == c.at; up = up.above {
		if up.pointer == c.pointer {
			return true
		}
	}
	return false
}

// isTyped reports whether the value has a type that the keyword type allows. If it doesn't, isTyped
// records a failure.
func (c *check) isTyped() bool {
	named, ok := c.object["type"].([]any)
	if !ok {
		named = []any{c.object["type"]}
	}
	var wanted []string // in the order in which messages list the types
	for _, t := range []string{"null", "boolean", "number", "integer", "string", "array", "object"} {
		if slices.Contains(named, any(t)) {
			wanted = append(wanted, t)
		}
	}
	got := typeOf(c.value)
	n, ok := c.value.(float64)
	if wanted == nil || slices.Contains(wanted, got) || ok && slices.Contains(wanted, "integer") && n == math.Trunc(n) {
		return true
	}
	c.fail("/type", "got %s, want %s", got, strings.Join(wanted, " or "))
	return false
}

// typeOf returns the JSON type of a decoded value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// isExact reports whether const and enum allow the value. If they don't, it records a failure.
func (c *check) isExact() bool {
	if v, ok := c.object["const"]; ok && !c.isOneOf("const", []any{v}) {
		return false
	}
	list, ok := c.object["enum"].([]any)
	return !ok || c.isOneOf("enum", list)
}

// isOneOf reports whether the value equals an element of values. If it doesn't, isOneOf records a
// failure of the keyword.
func (c *check) isOneOf(keyword string, values []any) bool {
	if slices.ContainsFunc(values, func(v any) bool { return reflect.DeepEqual(v, c.value) }) {
		return true
	}
	var list []string
	for _, v := range values {
		list = append(list, shown(v))
	}
	what := "one of "
	if len(list) == 1 {
		what = ""
	}
	c.fail("/"+keyword, "value must be %s%s", what, strings.Join(list, ", "))
	return false
}

// shown formats a value for a message.
func shown(v any) string {
	if s, ok := v.(string); ok {
		return quoted(s)
	}
	text, _ := json.Marshal(v, json.Deterministic(true))
	return string(text)
}

// all checks the value against each schema in the list that is the value of the keyword key. It
// returns the first failure for each schema that the value doesn't meet, and the indexes of the
// schemas that it meets.
func (c *check) all(key string) (tried []failure, met []int) {
	list, _ := c.object[key].([]any)
	for i, content := range list {
		if failures := c.self(c.in(content, key, strconv.Itoa(i))); len(failures) > 0 {
			tried = append(tried, failures[0])
		} else {
			met = append(met, i)
		}
	}
	return tried, met
}

// combine checks the value against the keywords that combine schemas, such as anyOf.
func (c *check) combine() {
	if content, ok := c.object["not"]; ok && len(c.self(c.in(content, "not"))) == 0 {
		c.fail("", "'not' failed")
	}
	list, _ := c.object["allOf"].([]any)
	for i, content := range list {
		c.require(c.in(content, "allOf", strconv.Itoa(i)))
	}
	if tried, met := c.all("anyOf"); tried != nil && met == nil {
		c.fail("/anyOf", "'anyOf' failed").alternatives = tried
	}
	switch tried, met := c.all("oneOf"); {
	case len(met) > 1:
		c.fail("/oneOf", "'oneOf' failed, subschemas %v, %v matched", met[0], met[1])
	case tried != nil && met == nil:
		c.fail("/oneOf", "'oneOf' failed, none matched").alternatives = tried
	}
	if content, ok := c.object["if"]; ok {
		next := "then"
		if len(c.self(c.in(content, "if"))) > 0 {
			next = "else"
		}
		if content, ok := c.object[next]; ok {
			c.require(c.in(content, next))
		}
	}
}

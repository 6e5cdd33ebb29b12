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

// check is one value that is held to one schema.
type check struct {
	*Schema
	node
	object   map[string]any // what the schema says
	value    any
	at       string // JSON pointer to the value
	above    *check // what led to this check
	failures []failure
	steps    *int // of the whole check so far
}

// failure is one thing that is wrong.
type failure struct {
	schema  string // JSON pointer to it
	at      string // JSON pointer to the value
	keyword string // JSON pointer from the schema
	message string
	about   string    // description of the schema
	tried   []failure // the first failure of each alternative
}

// fail says that the value is not as a keyword demands.
func (c *check) fail(keyword, format string, args ...any) *failure {
	f := failure{schema: c.place, at: c.at, keyword: keyword, message: shorten(fmt.Sprintf(format, args...))}
	f.about, _ = c.object["description"].(string)
	c.failures = append(c.failures, f)
	return &c.failures[len(c.failures)-1]
}

// of holds a value to a schema.
func (c *check) of(n node, value any, at string) []failure {
	if *c.steps++; *c.steps > maxSteps {
		return nil
	}
	sub := &check{Schema: c.Schema, node: n, value: value, at: at, above: c, steps: c.steps}
	sub.object, _ = n.says.(map[string]any)
	sub.run()
	*c.steps += len(sub.failures)
	return sub.failures
}

// self holds the value to another schema, too.
func (c *check) self(n node) []failure { return c.of(n, c.value, c.at) }

// require holds the value to another schema which it must meet.
func (c *check) require(n node) { c.failures = append(c.failures, c.self(n)...) }

// part holds a member or an item of the value to a schema which it must meet.
func (c *check) part(n node, name string, value any) {
	c.failures = append(c.failures, c.of(n, value, below(c.at, name))...)
}

// run holds the value to the schema.
func (c *check) run() {
	switch {
	case c.says == false:
		c.fail("", "false schema")
		return
	case c.repeats():
		c.fail("", "the schema refers to itself without an end")
		return
	case !c.isTyped() || !c.isExact():
		return
	}
	if text, ok := c.object["$ref"].(string); ok {
		to, _ := c.lead(text)
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

// repeats reports whether the same value is already being held to the same schema.
func (c *check) repeats() bool {
	for up := c.above; up.above != nil && up.at == c.at; up = up.above {
		if up.place == c.place {
			return true
		}
	}
	return false
}

// isTyped holds the value to the keyword type.
func (c *check) isTyped() bool {
	wanted, got := typesOf(c.object["type"]), typeOf(c.value)
	n, ok := c.value.(float64)
	if wanted == nil || slices.Contains(wanted, got) || ok && slices.Contains(wanted, "integer") && n == math.Trunc(n) {
		return true
	}
	c.fail("/type", "got %s, want %s", got, strings.Join(wanted, " or "))
	return false
}

// typesOf returns the types that the keyword type names, in the order in which they are told.
func typesOf(value any) []string {
	named, ok := value.([]any)
	if !ok {
		named = []any{value}
	}
	var types []string
	for _, t := range []string{"null", "boolean", "number", "integer", "string", "array", "object"} {
		if slices.Contains(named, any(t)) {
			types = append(types, t)
		}
	}
	return types
}

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

// isExact holds the value to const and enum.
func (c *check) isExact() bool {
	if v, ok := c.object["const"]; ok && !c.isOneOf("const", []any{v}) {
		return false
	}
	list, ok := c.object["enum"].([]any)
	return !ok || c.isOneOf("enum", list)
}

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

// shown is a value as messages have it.
func shown(v any) string {
	if s, ok := v.(string); ok {
		return quoted(s)
	}
	text, _ := json.Marshal(v, json.Deterministic(true))
	return string(text)
}

// all holds the value to the schemas of a list, and returns the first failure with each that it does not
// meet, and the places of the others.
func (c *check) all(key string) (tried []failure, met []int) {
	list, _ := c.object[key].([]any)
	for i, says := range list {
		if failures := c.self(c.in(says, key, strconv.Itoa(i))); len(failures) > 0 {
			tried = append(tried, failures[0])
		} else {
			met = append(met, i)
		}
	}
	return tried, met
}

// combine holds the value to the keywords that combine schemas.
func (c *check) combine() {
	if says, ok := c.object["not"]; ok && len(c.self(c.in(says, "not"))) == 0 {
		c.fail("", "'not' failed")
	}
	list, _ := c.object["allOf"].([]any)
	for i, says := range list {
		c.require(c.in(says, "allOf", strconv.Itoa(i)))
	}
	if tried, met := c.all("anyOf"); tried != nil && met == nil {
		c.fail("/anyOf", "'anyOf' failed").tried = tried
	}
	switch tried, met := c.all("oneOf"); {
	case len(met) > 1:
		c.fail("/oneOf", "'oneOf' failed, subschemas %v, %v matched", met[0], met[1])
	case tried != nil && met == nil:
		c.fail("/oneOf", "'oneOf' failed, none matched").tried = tried
	}
	if says, ok := c.object["if"]; ok {
		next := "then"
		if len(c.self(c.in(says, "if"))) > 0 {
			next = "else"
		}
		if says, ok := c.object[next]; ok {
			c.require(c.in(says, next))
		}
	}
}

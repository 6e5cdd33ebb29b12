package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// check is one value that is held to one schema.
type check struct {
	*Schema
	node
	object   map[string]any // what the schema says
	value    any
	at       *location       // of the value; the same one means the same value
	above    *check          // what led to this check
	seen     map[string]bool // the members or items of the value that the keywords have looked at
	failures []failure
}

// location is a place in a text: a member or an item of the one above. The first one is the whole text.
type location struct {
	above *location
	name  string
}

// names returns the names on the way to a place.
func (l *location) names() []string {
	var all []string
	for ; l.above != nil; l = l.above {
		all = append(all, l.name)
	}
	slices.Reverse(all)
	return all
}

// failure is one thing that is wrong.
type failure struct {
	schema  string // JSON pointer to it
	at      *location
	keyword string // JSON pointer from the schema
	message string
	tried   []failure // the first failure of each alternative
}

// fail says that the value is not as a keyword demands.
func (c *check) fail(keyword, format string, args ...any) *failure {
	message := shorten(fmt.Sprintf(format, args...))
	c.failures = append(c.failures, failure{schema: c.place, at: c.at, keyword: keyword, message: message})
	return &c.failures[len(c.failures)-1]
}

// of holds a value to a schema.
func (c *check) of(n node, value any, at *location) *check {
	sub := &check{Schema: c.Schema, node: n, value: value, at: at, above: c, seen: map[string]bool{}}
	sub.object, _ = n.says.(map[string]any)
	sub.run()
	return sub
}

// self holds the value to another schema, too.
func (c *check) self(n node) *check {
	sub := c.of(n, c.value, c.at)
	if len(sub.failures) == 0 {
		maps.Copy(c.seen, sub.seen)
	}
	return sub
}

// require holds the value to another schema which it must meet.
func (c *check) require(n node) { c.failures = append(c.failures, c.self(n).failures...) }

// part holds a member or an item of the value to a schema which it must meet.
func (c *check) part(n node, name string, value any) {
	c.failures = append(c.failures, c.of(n, value, &location{c.at, name}).failures...)
	c.seen[name] = true
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
	c.follow("$ref")
	switch v := c.value.(type) {
	case map[string]any:
		c.checkObject(v)
	case []any:
		c.checkArray(v)
	case string:
		c.checkString(v)
	case number:
		c.checkNumber(v)
	}
	c.follow("$dynamicRef")
	c.combine()
	c.checkUnseen()
}

// repeats reports whether the same value is already being held to the same schema.
func (c *check) repeats() bool {
	for up := c.above; up.at == c.at; up = up.above {
		if up.place == c.place {
			return true
		}
	}
	return false
}

// isTyped holds the value to the keyword type.
func (c *check) isTyped() bool {
	wanted, got := typesOf(c.object["type"]), typeOf(c.value)
	n, ok := c.value.(number)
	if wanted == nil || slices.Contains(wanted, got) || ok && slices.Contains(wanted, "integer") && n.exact().IsInt() {
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
	case number:
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
	key := keyOf(c.value)
	if slices.ContainsFunc(values, func(v any) bool { return keyOf(v) == key }) {
		return true
	}
	var shown []string
	for _, v := range values {
		switch v := v.(type) {
		case []any, map[string]any:
		case string:
			shown = append(shown, quoted(v))
		default:
			shown = append(shown, fmt.Sprint(v))
		}
	}
	switch {
	case len(shown) < len(values): // what is not simple is not shown
		c.fail("/"+keyword, "'%s' failed", keyword)
	case len(shown) == 1:
		c.fail("/"+keyword, "value must be %s", shown[0])
	default:
		c.fail("/"+keyword, "value must be one of %s", strings.Join(shown, ", "))
	}
	return false
}

// follow holds the value to the schema that a reference leads to. As a document has no other documents
// in it, $ref and $dynamicRef lead to the same one.
func (c *check) follow(key string) {
	if text, ok := c.object[key].(string); ok {
		to, _ := c.lead(text)
		c.require(to)
	}
}

// all holds the value to the schemas of a list, and returns the first failure with each that it does not
// meet, and the places of the others.
func (c *check) all(key string) (tried []failure, met []int) {
	list, _ := c.object[key].([]any)
	for i, says := range list {
		if sub := c.self(c.in(says, key, strconv.Itoa(i))); len(sub.failures) > 0 {
			tried = append(tried, sub.failures[0])
		} else {
			met = append(met, i)
		}
	}
	return tried, met
}

// combine holds the value to the keywords that combine schemas.
func (c *check) combine() {
	if says, ok := c.object["not"]; ok && len(c.self(c.in(says, "not")).failures) == 0 {
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
		if len(c.self(c.in(says, "if")).failures) > 0 {
			next = "else"
		}
		if says, ok := c.object[next]; ok {
			c.require(c.in(says, next))
		}
	}
}

// checkUnseen holds to unevaluatedProperties and unevaluatedItems what no other keyword has looked at.
func (c *check) checkUnseen() {
	object, _ := c.value.(map[string]any)
	array, _ := c.value.([]any)
	if says, ok := c.object["unevaluatedProperties"]; ok {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !c.seen[name] {
				c.part(c.in(says, "unevaluatedProperties"), name, object[name])
			}
		}
	}
	if says, ok := c.object["unevaluatedItems"]; ok {
		for i, item := range array {
			if name := strconv.Itoa(i); !c.seen[name] {
				c.part(c.in(says, "unevaluatedItems"), name, item)
			}
		}
	}
}

package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is one schema of a document.
type node struct {
	place string // JSON pointer to it, as a part of a URL
	fixed *bool  // the schema is true or false; nil for an object
	types []string
	exact []exact
	rules []rule
	asks  bool // a rule has to know which members or items the others have looked at
}

// rule is what one keyword demands, or some keywords that belong together.
type rule interface{ check(c *check) }

// check is one value that is held to one schema.
type check struct {
	schema   *node
	value    any
	at       *location // of the value; the same one means the same value
	above    *check    // what led to this check; nil for none
	seen     *seen     // what of the value the rules have looked at; nil where nobody asks
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
	schema  *node
	at      *location
	keyword string // JSON pointer from the schema
	message string
	tried   []failure // the first failure of each alternative
}

// seen is which members or items of a value the rules of a schema have looked at.
type seen struct {
	members map[string]bool
	items   map[int]bool
	first   int // items from the beginning
}

func newSeen() *seen { return &seen{members: map[string]bool{}, items: map[int]bool{}} }

func (s *seen) add(t *seen) {
	maps.Copy(s.members, t.members)
	maps.Copy(s.items, t.items)
	s.first = max(s.first, t.first)
}

// fail says that the value is not as a keyword demands.
func (c *check) fail(keyword, format string, args ...any) *failure {
	message := shorten(fmt.Sprintf(format, args...))
	c.failures = append(c.failures, failure{schema: c.schema, at: c.at, keyword: keyword, message: message})
	return &c.failures[len(c.failures)-1]
}

// run holds the value to the schema.
func (c *check) run() {
	n := c.schema
	if n.fixed != nil {
		if !*n.fixed {
			c.fail("", "false schema")
		}
		return
	}
	if c.repeats() {
		c.fail("", "the schema refers to itself without an end")
		return
	}
	if got := typeOf(c.value); !n.allows(got, c.value) {
		c.fail("/type", "got %s, want %s", got, strings.Join(n.types, " or "))
		return
	}
	for _, e := range n.exact {
		if !e.values[keyOf(c.value)] {
			c.fail("/"+e.keyword, "%s", e.wanted)
			return
		}
	}
	for _, r := range n.rules {
		r.check(c)
	}
}

// repeats reports whether the same value is already being held to the same schema.
func (c *check) repeats() bool {
	for up := c.above; up != nil && up.at == c.at; up = up.above {
		if up.schema == c.schema {
			return true
		}
	}
	return false
}

// of returns a check of a value against a schema that a rule of this one leads to.
func (c *check) of(n *node, value any, at *location) *check {
	sub := &check{schema: n, value: value, at: at, above: c}
	if n.asks || at == c.at && c.seen != nil {
		sub.seen = newSeen()
	}
	return sub
}

// self holds the value to another schema, too.
func (c *check) self(n *node) *check {
	sub := c.of(n, c.value, c.at)
	sub.run()
	if len(sub.failures) == 0 && c.seen != nil {
		c.seen.add(sub.seen)
	}
	return sub
}

// require holds the value to another schema which it must meet.
func (c *check) require(n *node) { c.failures = append(c.failures, c.self(n).failures...) }

// inner holds a member or an item of the value to a schema.
func (c *check) inner(n *node, value any, name string) *check {
	sub := c.of(n, value, &location{c.at, name})
	sub.run()
	return sub
}

// member holds a member of the value to a schema which it must meet.
func (c *check) member(n *node, name string, value any) {
	c.failures = append(c.failures, c.inner(n, value, name).failures...)
	if c.seen != nil {
		c.seen.members[name] = true
	}
}

// item holds an item of the value to a schema which it must meet.
func (c *check) item(n *node, i int, value any) {
	c.failures = append(c.failures, c.inner(n, value, strconv.Itoa(i)).failures...)
}

// allows reports whether a value has one of the schema's types.
func (n *node) allows(got string, value any) bool {
	if len(n.types) == 0 || slices.Contains(n.types, got) {
		return true
	}
	number, ok := value.(json.Number)
	return ok && slices.Contains(n.types, "integer") && isInteger(number)
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

package schema

import (
	"maps"
	"slices"
)

// not, and all that follows, combine schemas.
type not struct{ schema *node }

func (r not) check(c *check) {
	if len(c.self(r.schema).failures) == 0 {
		c.fail("", "'not' failed")
	}
}

type allOf struct{ schemas []*node }

func (r allOf) check(c *check) {
	for _, n := range r.schemas {
		c.require(n)
	}
}

type anyOf struct{ schemas []*node }

func (r anyOf) check(c *check) {
	var tried []failure
	isMet := false
	for _, n := range r.schemas {
		sub := c.self(n)
		if len(sub.failures) > 0 {
			tried = append(tried, sub.failures[0])
			continue
		}
		// Who asks what was looked at asks of all alternatives that are met.
		if isMet = true; c.seen == nil {
			return
		}
	}
	if !isMet {
		c.fail("/anyOf", "'anyOf' failed").tried = tried
	}
}

type oneOf struct{ schemas []*node }

func (r oneOf) check(c *check) {
	var tried []failure
	met := -1
	for i, n := range r.schemas {
		sub := c.self(n)
		switch {
		case len(sub.failures) > 0:
			tried = append(tried, sub.failures[0])
		case met < 0:
			met = i
		default:
			c.fail("/oneOf", "'oneOf' failed, subschemas %v, %v matched", met, i)
			return
		}
	}
	if met < 0 {
		c.fail("/oneOf", "'oneOf' failed, none matched").tried = tried
	}
}

// condition is if, then and else.
type condition struct{ test, then, otherwise *node } // nil for none

func (r condition) check(c *check) {
	next := r.then
	if len(c.self(r.test).failures) > 0 {
		next = r.otherwise
	}
	if next != nil {
		c.require(next)
	}
}

// unseenMembers is unevaluatedProperties. Like unseenItems it comes after all other rules.
type unseenMembers struct{ schema *node }

func (r unseenMembers) check(c *check) {
	object, _ := c.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !c.seen.members[name] {
			c.member(r.schema, name, object[name])
		}
	}
}

// unseenItems is unevaluatedItems.
type unseenItems struct{ schema *node }

func (r unseenItems) check(c *check) {
	array, _ := c.value.([]any)
	for i, item := range array {
		if i >= c.seen.first && !c.seen.items[i] {
			c.item(r.schema, i, item)
		}
	}
	c.seen.first = len(array)
}

package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// reference is $ref or $dynamicRef. As a document has no other documents in it, both lead to the
// same schema.
type reference struct {
	place, text string // where it is, and what it says
	to          *node
}

func (r *reference) check(c *check) { c.require(r.to) }

// bound is a keyword that limits how long, or how large, a value is.
type bound struct {
	keyword string
	of      string // type of the values that it is for
	limit   int
	isMax   bool
}

func (r bound) check(c *check) {
	if typeOf(c.value) != r.of {
		return
	}
	got := 0
	switch v := c.value.(type) {
	case map[string]any:
		got = len(v)
	case []any:
		got = len(v)
	case string:
		got = utf8.RuneCountInString(v)
	}
	if r.isMax && got > r.limit || !r.isMax && got < r.limit {
		c.fail("/"+r.keyword, r.keyword+": got %v, want %v", got, r.limit)
	}
}

// required has the names of members that must be there.
type required struct {
	keyword string // JSON pointer from the schema
	when    string // the member which must be there for that; "" for none
	names   []string
}

func (r required) check(c *check) {
	object, ok := c.value.(map[string]any)
	if _, here := object[r.when]; !ok || r.keyword != "/required" && !here {
		return
	}
	var missing []string
	for _, name := range r.names {
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
		}
	}
	switch {
	case missing == nil:
	case r.keyword != "/required":
		c.fail(r.keyword, "properties %v required, if %v exists", list(missing), quoted(r.when))
	case len(missing) == 1:
		c.fail(r.keyword, "missing property %v", quoted(missing[0]))
	default:
		c.fail(r.keyword, "missing properties %v", list(missing))
	}
}

// members is properties, patternProperties and additionalProperties.
type members struct {
	named    map[string]*node
	patterns []patterned
	others   *node // nil for none
}

type patterned struct {
	pattern *regexp.Regexp
	schema  *node
}

func (r members) check(c *check) {
	object, _ := c.value.(map[string]any)
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		isKnown := r.checkKnown(c, name, object[name])
		switch {
		case isKnown || r.others == nil:
		case r.others.fixed != nil && !*r.others.fixed:
			extra = append(extra, name)
		default:
			c.member(r.others, name, object[name])
		}
	}
	if extra != nil {
		c.fail("/additionalProperties", "additional properties %v not allowed", list(extra))
	}
}

// checkKnown holds a member to the schemas for its name, if there are any.
func (r members) checkKnown(c *check, name string, value any) bool {
	schema, isKnown := r.named[name]
	if isKnown {
		c.member(schema, name, value)
	}
	for _, p := range r.patterns {
		if p.pattern.MatchString(name) {
			isKnown = true
			c.member(p.schema, name, value)
		}
	}
	return isKnown
}

// memberNames is propertyNames.
type memberNames struct{ schema *node }

func (r memberNames) check(c *check) {
	object, _ := c.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		sub := c.of(r.schema, name, &location{})
		if sub.run(); len(sub.failures) > 0 {
			c.fail("/propertyNames", "invalid propertyName %v", quoted(name)).tried = sub.failures[:1]
		}
	}
}

// dependent is what dependentSchemas demands where there is a member.
type dependent struct {
	name   string
	schema *node
}

func (r dependent) check(c *check) {
	object, _ := c.value.(map[string]any)
	if _, ok := object[r.name]; ok {
		c.require(r.schema)
	}
}

// items is prefixItems and items.
type items struct {
	first []*node
	rest  *node // nil for none
}

func (r items) check(c *check) {
	array, _ := c.value.([]any)
	for i, item := range array {
		switch {
		case i < len(r.first):
			c.item(r.first[i], i, item)
		case r.rest != nil:
			c.item(r.rest, i, item)
		}
	}
	if c.seen != nil && r.rest != nil {
		c.seen.first = len(array)
	} else if c.seen != nil {
		c.seen.first = max(c.seen.first, min(len(r.first), len(array)))
	}
}

// unique is uniqueItems.
type unique struct{}

func (unique) check(c *check) {
	array, _ := c.value.([]any)
	if i, j, ok := sameItems(array); ok {
		c.fail("/uniqueItems", "items at %v and %v are equal", i, j)
	}
}

// contains is contains, minContains and maxContains.
type contains struct {
	schema   *node
	min, max *int // nil where the keyword is missing
}

func (r contains) check(c *check) {
	array, ok := c.value.([]any)
	if !ok {
		return
	}
	var matched []int
	for i, item := range array {
		if len(c.inner(r.schema, item, strconv.Itoa(i)).failures) > 0 {
			continue
		}
		matched = append(matched, i)
		if c.seen != nil {
			c.seen.items[i] = true
		}
	}
	const counted = " items required to match contains schema, but matched %v"
	switch {
	case r.min == nil && matched == nil:
		c.fail("/contains", "no items match contains schema")
	case r.min == nil || len(matched) >= *r.min:
	case matched == nil:
		c.fail("/minContains", "min %v items required to match contains schema, but none matched", *r.min)
	default:
		c.fail("/minContains", "min %v"+counted, *r.min, len(matched))
	}
	if r.max != nil && len(matched) > *r.max {
		c.fail("/maxContains", "max %v"+counted, *r.max, len(matched))
	}
}

// matching is the keyword pattern.
type matching struct{ pattern *regexp.Regexp }

func (r matching) check(c *check) {
	if s, ok := c.value.(string); ok && !r.pattern.MatchString(s) {
		c.fail("/pattern", "%v does not match pattern %v", quoted(s), quoted(r.pattern.String()))
	}
}

// limit is a keyword that limits a number.
type limit struct {
	keyword string
	text    json.Number
	than    *big.Rat
}

func (r limit) check(c *check) {
	number, ok := c.value.(json.Number)
	if !ok {
		return
	}
	got := ratOf(number)
	if !r.allows(got) {
		c.fail("/"+r.keyword, r.keyword+": got %v, want %v", number, r.text)
	}
}

func (r limit) allows(got *big.Rat) bool {
	switch r.keyword {
	case "minimum":
		return got.Cmp(r.than) >= 0
	case "maximum":
		return got.Cmp(r.than) <= 0
	case "exclusiveMinimum":
		return got.Cmp(r.than) > 0
	case "exclusiveMaximum":
		return got.Cmp(r.than) < 0
	}
	return new(big.Rat).Quo(got, r.than).IsInt() // multipleOf
}

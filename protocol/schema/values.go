package schema

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// checkBounds holds the value's length to the keywords that limit it.
func (c *check) checkBounds(got int, least, most string) {
	if limit, ok := c.count(least); ok && got < limit {
		c.fail("/"+least, least+": got %v, want %v", got, limit)
	}
	if limit, ok := c.count(most); ok && got > limit {
		c.fail("/"+most, most+": got %v, want %v", got, limit)
	}
}

// count returns what a keyword says that has a whole number.
func (c *check) count(key string) (int, bool) {
	n, ok := c.object[key].(number)
	if !ok {
		return 0, false
	}
	if v := n.exact().Num(); v.IsInt64() {
		return int(v.Int64()), true
	}
	return math.MaxInt, true
}

func (c *check) checkObject(object map[string]any) {
	c.checkBounds(len(object), "minProperties", "maxProperties")
	switch missing := lacking(object, c.object["required"]); {
	case len(missing) == 1:
		c.fail("/required", "missing property %v", quoted(missing[0]))
	case missing != nil:
		c.fail("/required", "missing properties %v", list(missing))
	}
	c.checkMembers(object)
	if says, ok := c.object["propertyNames"]; ok {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if sub := c.of(c.in(says, "propertyNames"), name, &location{}); len(sub.failures) > 0 {
				c.fail("/propertyNames", "invalid propertyName %v", quoted(name)).tried = sub.failures[:1]
			}
		}
	}
	c.checkDependent(object)
}

// lacking returns those of a list of names that an object has no members of.
func lacking(object map[string]any, names any) (missing []string) {
	list, _ := names.([]any)
	for _, item := range list {
		name, _ := item.(string)
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// checkMembers holds the members to properties, patternProperties and additionalProperties.
func (c *check) checkMembers(object map[string]any) {
	named, _ := c.object["properties"].(map[string]any)
	matched, _ := c.object["patternProperties"].(map[string]any)
	patterns := slices.Sorted(maps.Keys(matched))
	others, isLimited := c.object["additionalProperties"]
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		says, isKnown := named[name]
		if isKnown {
			c.part(c.in(says, "properties", name), name, object[name])
		}
		for _, text := range patterns {
			if c.patterns[text].MatchString(name) {
				isKnown = true
				c.part(c.in(matched[text], "patternProperties", text), name, object[name])
			}
		}
		switch {
		case isKnown || !isLimited:
		case others == false:
			extra = append(extra, name)
		default:
			c.part(c.in(others, "additionalProperties"), name, object[name])
		}
	}
	if extra != nil {
		c.fail("/additionalProperties", "additional properties %v not allowed", list(extra))
	}
}

// checkDependent holds the object to dependentSchemas and dependentRequired.
func (c *check) checkDependent(object map[string]any) {
	schemas, _ := c.object["dependentSchemas"].(map[string]any)
	required, _ := c.object["dependentRequired"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if _, ok := object[name]; ok {
			c.require(c.in(schemas[name], "dependentSchemas", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		_, ok := object[name]
		if missing := lacking(object, required[name]); ok && missing != nil {
			c.fail(pointer([]string{"dependentRequired", name}), "properties %v required, if %v exists", list(missing), quoted(name))
		}
	}
}

func (c *check) checkArray(array []any) {
	c.checkBounds(len(array), "minItems", "maxItems")
	if c.object["uniqueItems"] == true {
		c.checkUnique(array)
	}
	first, _ := c.object["prefixItems"].([]any)
	rest, hasRest := c.object["items"]
	for i, item := range array {
		name := strconv.Itoa(i)
		switch {
		case i < len(first):
			c.part(c.in(first[i], "prefixItems", name), name, item)
		case hasRest:
			c.part(c.in(rest, "items"), name, item)
		}
	}
	if says, ok := c.object["contains"]; ok {
		c.checkContains(c.in(says, "contains"), array)
	}
}

// checkUnique tells of the first item that equals one before it.
func (c *check) checkUnique(array []any) {
	known := make(map[string]int, len(array))
	for j, item := range array {
		key := keyOf(item)
		if i, ok := known[key]; ok {
			c.fail("/uniqueItems", "items at %v and %v are equal", i, j)
			return
		}
		known[key] = j
	}
}

// checkContains holds the array to contains, minContains and maxContains.
func (c *check) checkContains(n node, array []any) {
	matched := 0
	for i, item := range array {
		name := strconv.Itoa(i)
		if len(c.of(n, item, &location{c.at, name}).failures) == 0 {
			matched++
			c.seen[name] = true
		}
	}
	const counted = " items required to match contains schema, but matched %v"
	least, isLeast := c.count("minContains")
	switch {
	case !isLeast && matched == 0:
		c.fail("/contains", "no items match contains schema")
	case !isLeast || matched >= least:
	case matched == 0:
		c.fail("/minContains", "min %v items required to match contains schema, but none matched", least)
	default:
		c.fail("/minContains", "min %v"+counted, least, matched)
	}
	if most, ok := c.count("maxContains"); ok && matched > most {
		c.fail("/maxContains", "max %v"+counted, most, matched)
	}
}

func (c *check) checkString(text string) {
	c.checkBounds(utf8.RuneCountInString(text), "minLength", "maxLength")
	if re, ok := c.object["pattern"].(string); ok && !c.patterns[re].MatchString(text) {
		c.fail("/pattern", "%v does not match pattern %v", quoted(text), quoted(re))
	}
}

func (c *check) checkNumber(got number) {
	value := got.exact()
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if limit, ok := c.object[key].(number); ok && !isWithin(key, value, limit.exact()) {
			c.fail("/"+key, key+": got %v, want %v", got, limit)
		}
	}
}

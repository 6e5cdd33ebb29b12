package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// limits maps each keyword that limits a number or a length to a function that reports whether got
// is within the limit.
var limits = map[string]func(got, limit float64) bool{
	"minProperties": isAtLeast, "minItems": isAtLeast, "minLength": isAtLeast, "minimum": isAtLeast,
	"maxProperties": isAtMost, "maxItems": isAtMost, "maxLength": isAtMost, "maximum": isAtMost,
	"exclusiveMinimum": func(got, limit float64) bool { return got > limit },
	"exclusiveMaximum": func(got, limit float64) bool { return got < limit },
	"multipleOf": func(got, limit float64) bool {
		const rounding = 1e-9 // so that 0.3 is a multiple of 0.1
		times := got / limit
		return math.Abs(times-math.Round(times)) < rounding
	},
}

// isAtLeast reports whether got is not below a lower limit.
func isAtLeast(got, limit float64) bool { return got >= limit }

// isAtMost reports whether got is not above an upper limit.
func isAtMost(got, limit float64) bool { return got <= limit }

// checkLimits checks a number against the limits in the given keywords.
func (c *check) checkLimits(got float64, keywords ...string) {
	for _, key := range keywords {
		if limit, ok := c.object[key].(float64); ok && !limits[key](got, limit) {
			c.fail("/"+key, key+": got %s, want %s", shown(got), shown(limit))
		}
	}
}

// checkObject checks an object against the keywords for objects.
func (c *check) checkObject(object map[string]any) {
	c.checkLimits(float64(len(object)), "minProperties", "maxProperties")
	switch missing := missingMembers(object, c.object["required"]); {
	case len(missing) == 1:
		c.fail("/required", "missing property %v", quoted(missing[0]))
	case missing != nil:
		c.fail("/required", "missing properties %v", list(missing))
	}
	c.checkMembers(object)
	if content, ok := c.object["propertyNames"]; ok {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if failures := c.evaluate(c.in(content, "propertyNames"), name, below(c.at, name)); len(failures) > 0 {
				c.fail("/propertyNames", "invalid propertyName %v", quoted(name)).alternatives = failures[:1]
			}
		}
	}
	schemas, _ := c.object["dependentSchemas"].(map[string]any)
	required, _ := c.object["dependentRequired"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if content, ok := schemas[name]; ok {
			c.require(c.in(content, "dependentSchemas", name))
		}
		if missing := missingMembers(object, required[name]); missing != nil {
			c.fail(below("/dependentRequired", name), "properties %v required, if %v exists", list(missing), quoted(name))
		}
	}
}

// missingMembers returns the names in a list for which an object has no member.
func missingMembers(object map[string]any, names any) (missing []string) {
	list, _ := names.([]any)
	for _, item := range list {
		name, _ := item.(string)
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// checkMembers checks the members against properties, patternProperties and
// additionalProperties.
func (c *check) checkMembers(object map[string]any) {
	named, _ := c.object["properties"].(map[string]any)
	matched, _ := c.object["patternProperties"].(map[string]any)
	patterns := slices.Sorted(maps.Keys(matched))
	others, isLimited := c.object["additionalProperties"]
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		content, isKnown := named[name]
		if isKnown {
			c.requirePart(c.in(content, "properties", name), name, object[name])
		}
		for _, text := range patterns {
			if c.patterns[text].MatchString(name) {
				isKnown = true
				c.requirePart(c.in(matched[text], "patternProperties", text), name, object[name])
			}
		}
		switch {
		case isKnown || !isLimited:
		case others == false:
			extra = append(extra, name)
		default:
			c.requirePart(c.in(others, "additionalProperties"), name, object[name])
		}
	}
	if extra != nil {
		c.fail("/additionalProperties", "additional properties %v not allowed", list(extra))
	}
}

// checkArray checks an array against the keywords for arrays.
func (c *check) checkArray(array []any) {
	c.checkLimits(float64(len(array)), "minItems", "maxItems")
	if c.object["uniqueItems"] == true {
		known := make(map[string]int, len(array))
		for j, item := range array {
			key := fmt.Sprintf("%#v", item) // two items have the same key only if they are equal
			if i, ok := known[key]; ok {
				c.fail("/uniqueItems", "items at %v and %v are equal", i, j)
				break
			}
			known[key] = j
		}
	}
	first, _ := c.object["prefixItems"].([]any)
	rest, hasRest := c.object["items"]
	for i, item := range array {
		name := strconv.Itoa(i)
		switch {
		case i < len(first):
			c.requirePart(c.in(first[i], "prefixItems", name), name, item)
		case hasRest:
			c.requirePart(c.in(rest, "items"), name, item)
		}
	}
	if content, ok := c.object["contains"]; ok {
		matched := 0
		for i, item := range array {
			if len(c.evaluate(c.in(content, "contains"), item, below(c.at, strconv.Itoa(i)))) == 0 {
				matched++
			}
		}
		if least, ok := c.object["minContains"].(float64); ok && float64(matched) < least {
			c.fail("/minContains", "%d items match the schema of contains, want at least %s", matched, shown(least))
		} else if !ok && matched == 0 {
			c.fail("/contains", "no items match contains schema")
		}
		if most, ok := c.object["maxContains"].(float64); ok && float64(matched) > most {
			c.fail("/maxContains", "%d items match the schema of contains, want at most %s", matched, shown(most))
		}
	}
}

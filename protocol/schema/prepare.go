package schema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxSchemas is the largest number of schemas within each other.
const maxSchemas = 1000

// The keywords that have schemas in them: one; a list of them; schemas by name. Those of
// eachValue apply to every member or item of a value.
var (
	oneSchema = []string{"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	listOfSchemas  = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemasByNames = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	eachValue      = []string{"items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems",
		"unevaluatedProperties", "patternProperties"}
)

// older are keywords of earlier drafts that the library would follow.
var older = []string{"dependencies", "$recursiveRef", "$recursiveAnchor"}

// weight is what it costs to hold a value to a schema without the schemas in it: once, and
// for each of its members or items.
type weight struct {
	once, each int
	isDeep     bool // it compares values with each other
}

// preparer makes the document of a Schema.
type preparer struct {
	schema     *Schema
	places     map[string]bool // JSON pointers of the schemas
	references []reference
	wrong      *Violation // the first one
}

type reference struct{ place, to string }

func (p *preparer) refuse(place, format string, args ...any) {
	if p.wrong == nil {
		p.wrong = &Violation{Place: shorten(place), Message: fmt.Sprintf(format, args...)}
	}
}

// prepare returns a copy of a schema in which every schema has a format of ours in place of
// its own, which only says what people should know of a text.
func (p *preparer) prepare(doc any, place string) any {
	p.places[place] = true
	object, ok := doc.(map[string]any)
	if !ok || len(object) == 0 {
		return doc
	}
	if len(p.schema.weights) >= maxSchemas {
		p.refuse("", "it has more than %d schemas in it", maxSchemas)
		return doc
	}
	w := weight{isDeep: object["uniqueItems"] == true}
	name := "step-" + strconv.Itoa(len(p.schema.weights))
	p.schema.weights[name] = w
	object = maps.Clone(object)
	p.checkKeywords(object, place)
	delete(object, "$id")
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value, parts := p.inside(key, object[key], place+"/"+escaped(key))
		object[key] = value
		if parts == 0 {
			parts = sizeOf(value)
		}
		if w.once += parts; slices.Contains(eachValue, key) {
			w.each += parts
		}
	}
	object["format"] = name
	p.schema.weights[name] = w
	return object
}

// inside prepares the value of a keyword, and returns how many schemas it has in it.
func (p *preparer) inside(key string, value any, place string) (prepared any, parts int) {
	switch {
	case slices.Contains(oneSchema, key):
		return p.prepare(value, place), 1
	case slices.Contains(listOfSchemas, key):
		list, _ := value.([]any)
		list = slices.Clone(list)
		for i := range list {
			list[i] = p.prepare(list[i], place+"/"+strconv.Itoa(i))
		}
		if list != nil {
			value = list
		}
		return value, len(list)
	case slices.Contains(schemasByNames, key):
		named, ok := value.(map[string]any)
		if !ok {
			return value, 0
		}
		named = maps.Clone(named)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			named[name] = p.prepare(named[name], place+"/"+escaped(name))
		}
		return named, len(named)
	}
	return value, 0
}

// checkKeywords refuses what would make the schema depend on other ones.
func (p *preparer) checkKeywords(object map[string]any, place string) {
	if dialectOf, ok := object["$schema"]; ok && (place != "" || dialectOf != dialect && dialectOf != dialect+"#") {
		p.refuse(place+"/$schema", "only %s is possible, at the top", dialect)
	}
	if _, ok := object["$id"]; ok && place != "" {
		p.refuse(place+"/$id", "only the whole schema can have an id")
	}
	for _, key := range older {
		if _, ok := object[key]; ok {
			p.refuse(place+"/"+key, "the keyword is of an earlier draft, not of 2020-12")
		}
	}
	for _, key := range []string{"$ref", "$dynamicRef"} {
		if to, ok := object[key].(string); ok {
			p.references = append(p.references, reference{place + "/" + key, to})
		}
	}
}

// checkReferences refuses references that lead out of the document, or to something in it
// that is no schema.
func (p *preparer) checkReferences() {
	for _, r := range p.references {
		to, isHere := strings.CutPrefix(r.to, "#")
		to, err := url.PathUnescape(to)
		switch {
		case !isHere:
			p.refuse(r.place, "%q is not in this schema, and nothing else is read; write #/$defs/NAME", shorten(r.to))
		case err != nil || strings.HasPrefix(to, "/") && !p.places[to]:
			p.refuse(r.place, "there is no schema at %q", shorten(r.to))
		}
	}
}

// sizeOf is the number of values, and of 16 bytes of text, in a value.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case string:
		return 1 + len(v)/16
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	case map[string]any:
		for name, item := range v {
			n += 1 + len(name)/16 + sizeOf(item)
		}
	}
	return n
}

// escaped returns a name as a part of a JSON pointer.
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

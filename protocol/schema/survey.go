package schema

import (
	"encoding/json"
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

// older are keywords of earlier drafts, which people may expect to work.
var older = []string{"dependencies", "$recursiveRef", "$recursiveAnchor"}

// weight is what it costs to hold a value to a schema without the schemas in it: once, and
// for each of its members or items.
type weight struct {
	once, each int
	isDeep     bool // it looks at all that is in the value
}

// survey is a first look through a document, which finds its schemas and what can't be used.
type survey struct {
	weights map[string]weight // of the schemas that are objects, by JSON pointer
	places  map[string]bool   // JSON pointers of all schemas
	links   []link
	anchors map[string]string // JSON pointers of schemas by their names
	wrong   *Violation        // the first one
}

// link is a reference to a schema.
type link struct{ place, to string }

func newSurvey() *survey {
	return &survey{weights: map[string]weight{}, places: map[string]bool{}, anchors: map[string]string{}}
}

func (p *survey) refuse(place, format string, args ...any) {
	if p.wrong == nil {
		p.wrong = &Violation{Place: shorten(place), Message: fmt.Sprintf(format, args...)}
	}
}

// visit looks at a schema, and at those in it.
func (p *survey) visit(doc any, place string) {
	p.places[place] = true
	object, ok := doc.(map[string]any)
	if !ok || len(object) == 0 {
		return
	}
	if len(p.weights) >= maxSchemas {
		p.refuse("", "it has more than %d schemas in it", maxSchemas)
		return
	}
	w := weight{isDeep: object["uniqueItems"] == true}
	p.weights[place] = w
	p.checkKeywords(object, place)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		parts := p.inside(key, object[key], place+"/"+escaped(key))
		if parts == 0 {
			parts = sizeOf(object[key])
		}
		if w.once += parts; slices.Contains(eachValue, key) {
			w.each += parts
		}
		w.isDeep = w.isDeep || key == "const" || key == "enum"
	}
	p.weights[place] = w
}

// inside looks at the value of a keyword, and returns how many schemas it has in it.
func (p *survey) inside(key string, value any, place string) (parts int) {
	switch {
	case slices.Contains(oneSchema, key):
		p.visit(value, place)
		return 1
	case slices.Contains(listOfSchemas, key):
		list, _ := value.([]any)
		for i, part := range list {
			p.visit(part, place+"/"+strconv.Itoa(i))
		}
		return len(list)
	case slices.Contains(schemasByNames, key):
		named, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			p.visit(named[name], place+"/"+escaped(name))
		}
		return len(named)
	}
	return 0
}

// checkKeywords refuses what would make the schema depend on other ones.
func (p *survey) checkKeywords(object map[string]any, place string) {
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
			p.links = append(p.links, link{place + "/" + key, to})
		}
	}
	p.addAnchors(object, place)
}

// addAnchors notes the names of a schema, which references may lead to.
func (p *survey) addAnchors(object map[string]any, place string) {
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		name, ok := object[key].(string)
		if at, known := p.anchors[name]; ok && known && at != place {
			p.refuse(place+"/"+key, "the name %q is that of another schema, too", shorten(name))
		} else if ok {
			p.anchors[name] = place
		}
	}
}

// checkLinks refuses references that lead out of the document, or to something in it
// that is no schema.
func (p *survey) checkLinks() {
	for _, r := range p.links {
		_, isHere := strings.CutPrefix(r.to, "#")
		_, ok := p.resolve(r.to)
		switch {
		case !isHere:
			p.refuse(r.place, "%q is not in this schema, and nothing else is read; write #/$defs/NAME", shorten(r.to))
		case !ok:
			p.refuse(r.place, "there is no schema at %q", shorten(r.to))
		}
	}
}

// resolve returns the JSON pointer of the schema that a reference leads to.
func (p *survey) resolve(to string) (place string, ok bool) {
	place, err := url.PathUnescape(strings.TrimPrefix(to, "#"))
	if place != "" && !strings.HasPrefix(place, "/") {
		place, ok = p.anchors[place]
		return place, ok && err == nil
	}
	return place, err == nil && p.places[place]
}

// sizeOf is the number of values, and of 16 bytes of text, in a value.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case string, json.Number:
		return 1 + len16(v)
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

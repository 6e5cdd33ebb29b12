package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// older are keywords of earlier drafts, which people may expect to work.
var older = []string{"dependencies", "$recursiveRef", "$recursiveAnchor"}

// compiler makes the nodes of a document, and finds what can't be used in it. It also bears documents
// that the schema of schemas refuses.
type compiler struct {
	nodes   map[string]*node  // by JSON pointer
	anchors map[string]string // JSON pointers of schemas by their names
	links   []*reference
	wrong   *Violation // the first one
}

// compile makes a Schema of a document.
func compile(doc any) (*Schema, *Violation) {
	c := compiler{nodes: map[string]*node{}, anchors: map[string]string{}}
	root := c.compile(doc, "")
	for _, r := range c.links {
		c.lead(r)
	}
	return &Schema{root}, c.wrong
}

func (p *compiler) refuse(place, format string, args ...any) {
	if p.wrong == nil {
		p.wrong = &Violation{Place: shorten(place), Message: shorten(fmt.Sprintf(format, args...))}
	}
}

// compile returns the node of a schema.
func (p *compiler) compile(doc any, place string) *node {
	n := &node{place: inURL(place)}
	p.nodes[place] = n
	object, ok := doc.(map[string]any)
	if !ok || len(object) == 0 {
		is := !ok && doc == true || ok
		n.fixed = &is
		return n
	}
	s := subject{compiler: p, object: object, place: place}
	s.checkKeywords()
	n.types = typesOf(object["type"])
	if v, ok := object["const"]; ok {
		n.exact = append(n.exact, newExact("const", []any{v}))
	}
	if list, ok := object["enum"].([]any); ok {
		n.exact = append(n.exact, newExact("enum", list))
	}
	n.rules = slices.Concat(s.references("$ref"), s.ofObjects(), s.ofArrays(), s.ofScalars(), s.references("$dynamicRef"), s.combining(), s.unseen())
	n.asks = object["unevaluatedProperties"] != nil || object["unevaluatedItems"] != nil
	for _, key := range []string{"$defs", "definitions"} {
		s.named(key)
	}
	s.one("contentSchema") // nothing is held to it, but references may lead to it
	return n
}

// lead sets the schema that a reference leads to. One that leads out of the document, or to something
// in it that is no schema, is refused.
func (p *compiler) lead(r *reference) {
	name, isHere := strings.CutPrefix(r.text, "#")
	place, err := url.PathUnescape(name)
	if at, ok := p.anchors[place]; ok {
		place = at
	}
	switch r.to = p.nodes[place]; {
	case !isHere:
		p.refuse(r.place, "%q is not in this schema, and nothing else is read; write #/$defs/NAME", shorten(r.text))
	case r.to == nil || err != nil:
		p.refuse(r.place, "there is no schema at %q", shorten(r.text))
	}
}

// pattern compiles a regular expression. They are all of those that need time in proportion to the text.
func (p *compiler) pattern(text, place string) *regexp.Regexp {
	re, err := regexp.Compile(text)
	if err != nil {
		p.refuse(place, "%v is not valid regex: it is no RE2 pattern: %v", quoted(text), err)
	}
	return re
}

// inURL returns a JSON pointer as a part of a URL.
func inURL(place string) string {
	parts := strings.Split(place, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
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

// subject is a schema whose keywords become rules.
type subject struct {
	*compiler
	object map[string]any
	place  string
}

// checkKeywords refuses what would make the schema depend on other ones.
func (s *subject) checkKeywords() {
	if of, ok := s.object["$schema"]; ok && (s.place != "" || of != dialect && of != dialect+"#") {
		s.refuse(s.place+"/$schema", "only %s is possible, at the top", dialect)
	}
	if _, ok := s.object["$id"]; ok && s.place != "" {
		s.refuse(s.place+"/$id", "only the whole schema can have an id")
	}
	for _, key := range older {
		if _, ok := s.object[key]; ok {
			s.refuse(s.place+"/"+key, "the keyword is of an earlier draft, not of 2020-12")
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		name, ok := s.object[key].(string)
		if at, known := s.anchors[name]; ok && known && at != s.place {
			s.refuse(s.place+"/"+key, "the name %q is that of another schema, too", shorten(name))
		} else if ok {
			s.anchors[name] = s.place
		}
	}
}

// one returns the schema that is the value of a keyword; nil for none.
func (s *subject) one(key string) *node {
	doc, ok := s.object[key]
	if !ok {
		return nil
	}
	return s.compile(doc, s.place+"/"+escaped(key))
}

// list returns the schemas of a keyword that has a list of them.
func (s *subject) list(key string) []*node {
	var nodes []*node
	list, _ := s.object[key].([]any)
	for i, doc := range list {
		nodes = append(nodes, s.compile(doc, fmt.Sprintf("%s/%s/%d", s.place, key, i)))
	}
	return nodes
}

// named returns the schemas of a keyword that has them by name.
func (s *subject) named(key string) map[string]*node {
	nodes := map[string]*node{}
	named, _ := s.object[key].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		nodes[name] = s.compile(named[name], s.place+"/"+escaped(key)+"/"+escaped(name))
	}
	return nodes
}

// number returns the value of a keyword that is a whole number; nil where there is none.
func (s *subject) number(key string) *int {
	text, ok := s.object[key].(json.Number)
	if !ok {
		return nil
	}
	n := math.MaxInt
	if v := ratOf(text).Num(); v.IsInt64() && v.Int64() < math.MaxInt {
		n = int(v.Int64())
	}
	return &n
}

func (s *subject) strings(value any) []string {
	var all []string
	list, _ := value.([]any)
	for _, item := range list {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}

func (s *subject) references(key string) []rule {
	to, ok := s.object[key].(string)
	if !ok {
		return nil
	}
	r := &reference{place: s.place + "/" + key, text: to}
	s.links = append(s.links, r)
	return []rule{r}
}

// bounds returns the rules of keywords that limit how long a value is.
func (s *subject) bounds(of, most, least string) []rule {
	var rules []rule
	for _, key := range []string{least, most} {
		if n := s.number(key); n != nil {
			rules = append(rules, bound{keyword: key, of: of, limit: *n, isMax: key == most})
		}
	}
	return rules
}

func (s *subject) ofObjects() []rule {
	rules := s.bounds("object", "maxProperties", "minProperties")
	if names := s.strings(s.object["required"]); names != nil {
		rules = append(rules, required{keyword: "/required", names: names})
	}
	m := members{named: s.named("properties"), others: s.one("additionalProperties")}
	byPattern := s.named("patternProperties")
	for _, text := range slices.Sorted(maps.Keys(byPattern)) {
		m.patterns = append(m.patterns, patterned{s.pattern(text, s.place+"/patternProperties"), byPattern[text]})
	}
	if len(m.named) > 0 || m.patterns != nil || m.others != nil {
		rules = append(rules, m)
	}
	if n := s.one("propertyNames"); n != nil {
		rules = append(rules, memberNames{n})
	}
	schemas := s.named("dependentSchemas")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		rules = append(rules, dependent{name, schemas[name]})
	}
	names, _ := s.object["dependentRequired"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		rules = append(rules, required{keyword: "/dependentRequired/" + escaped(name), when: name, names: s.strings(names[name])})
	}
	return rules
}

func (s *subject) ofArrays() []rule {
	rules := s.bounds("array", "maxItems", "minItems")
	if s.object["uniqueItems"] == true {
		rules = append(rules, unique{})
	}
	if r := (items{first: s.list("prefixItems"), rest: s.one("items")}); r.first != nil || r.rest != nil {
		rules = append(rules, r)
	}
	if n := s.one("contains"); n != nil {
		rules = append(rules, contains{schema: n, min: s.number("minContains"), max: s.number("maxContains")})
	}
	return rules
}

func (s *subject) ofScalars() []rule {
	rules := s.bounds("string", "maxLength", "minLength")
	if text, ok := s.object["pattern"].(string); ok {
		rules = append(rules, matching{s.pattern(text, s.place+"/pattern")})
	}
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if n, ok := s.object[key].(json.Number); ok {
			rules = append(rules, limit{key, n, ratOf(n)})
		}
	}
	return rules
}

func (s *subject) combining() []rule {
	var rules []rule
	if n := s.one("not"); n != nil {
		rules = append(rules, not{n})
	}
	if list := s.list("allOf"); list != nil {
		rules = append(rules, allOf{list})
	}
	if list := s.list("anyOf"); list != nil {
		rules = append(rules, anyOf{list})
	}
	if list := s.list("oneOf"); list != nil {
		rules = append(rules, oneOf{list})
	}
	r := condition{test: s.one("if"), then: s.one("then"), otherwise: s.one("else")}
	if r.test != nil {
		rules = append(rules, r)
	}
	return rules
}

func (s *subject) unseen() []rule {
	var rules []rule
	if n := s.one("unevaluatedProperties"); n != nil {
		rules = append(rules, unseenMembers{n})
	}
	if n := s.one("unevaluatedItems"); n != nil {
		rules = append(rules, unseenItems{n})
	}
	return rules
}

// escaped returns a name as a part of a JSON pointer.
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
)

// compiler makes the nodes of a document which the survey and the schema of schemas have found
// right.
type compiler struct {
	survey   *survey
	nodes    map[string]*node // by JSON pointer
	patterns int              // the size of those that were compiled
}

// errPattern is a pattern that can't be used.
type errPattern struct {
	place, text string
	err         error
}

func (e *errPattern) Error() string {
	return fmt.Sprintf("%v is not valid regex: %v", quoted(e.text), e.err)
}

// compile returns the node of a schema. Its error is an *errPattern.
func (p *compiler) compile(doc any, place string) (*node, error) {
	n := p.node(place)
	object, ok := doc.(map[string]any)
	if !ok || len(object) == 0 {
		is := !ok && doc == true || ok
		n.fixed = &is
		return n, nil
	}
	n.place, n.weight, n.types = inURL(place), p.survey.weights[place], typesOf(object["type"])
	if v, ok := object["const"]; ok {
		n.exact = append(n.exact, newExact("const", []any{v}))
	}
	if list, ok := object["enum"].([]any); ok {
		n.exact = append(n.exact, newExact("enum", list))
	}
	s := subject{compiler: p, object: object, place: place}
	n.rules = slices.Concat(s.references("$ref"), s.ofObjects(), s.ofArrays(), s.ofScalars(), s.references("$dynamicRef"), s.combining(), s.unseen())
	n.asks = object["unevaluatedProperties"] != nil || object["unevaluatedItems"] != nil
	for _, key := range []string{"$defs", "definitions"} {
		s.named(key)
	}
	s.one("contentSchema") // nothing is held to it, but references may lead to it
	return n, s.err
}

// node returns the node of a place, which may be compiled later.
func (p *compiler) node(place string) *node {
	n, ok := p.nodes[place]
	if !ok {
		n = &node{place: inURL(place)}
		p.nodes[place] = n
	}
	return n
}

// pattern compiles a regular expression.
func (p *compiler) pattern(text, place string) (*pattern, error) {
	re, err := newPattern(text)
	if err == nil {
		if p.patterns += re.size; p.patterns > maxPatterns {
			err = errTooLarge
		}
	}
	if err != nil {
		return nil, &errPattern{place, text, err}
	}
	return re, nil
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
	err    error // the first one
}

func (s *subject) child(doc any, place string) *node {
	n, err := s.compile(doc, place)
	if s.err == nil {
		s.err = err
	}
	return n
}

// one returns the schema that is the value of a keyword; nil for none.
func (s *subject) one(key string) *node {
	doc, ok := s.object[key]
	if !ok {
		return nil
	}
	return s.child(doc, s.place+"/"+escaped(key))
}

// list returns the schemas of a keyword that has a list of them.
func (s *subject) list(key string) []*node {
	var nodes []*node
	list, _ := s.object[key].([]any)
	for i, doc := range list {
		nodes = append(nodes, s.child(doc, fmt.Sprintf("%s/%s/%d", s.place, key, i)))
	}
	return nodes
}

// named returns the schemas of a keyword that has them by name.
func (s *subject) named(key string) map[string]*node {
	nodes := map[string]*node{}
	named, _ := s.object[key].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		nodes[name] = s.child(named[name], s.place+"/"+escaped(key)+"/"+escaped(name))
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
	place, _ := s.survey.resolve(to)
	return []rule{reference{s.node(place)}}
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
		re, err := s.pattern(text, s.place+"/patternProperties")
		if s.err == nil {
			s.err = err
		}
		m.patterns = append(m.patterns, patterned{re, byPattern[text]})
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
		re, err := s.pattern(text, s.place+"/pattern")
		if s.err == nil {
			s.err = err
		}
		rules = append(rules, matching{re})
	}
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if n, ok := s.object[key].(json.Number); ok {
			rules = append(rules, limit{key, ratOf(n)})
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

// patternOf returns the violation of a pattern that can't be used.
func patternOf(err error) *Violation {
	var bad *errPattern
	if !errors.As(err, &bad) {
		return nil
	}
	return &Violation{Place: shorten(bad.place), Message: shorten(bad.Error())}
}

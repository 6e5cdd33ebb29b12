package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// attributesOf lists the attributes of each verb, the required one first. A fork may have other
// attributes as well.
var attributesOf = map[Verb][]string{
	Goto:     {"input", "after"},
	Reset:    {"input", "cd", "after"},
	Call:     {"return", "input"},
	Function: {"return", "input", "agent", "model"},
	Fork:     {"next", "input", "cd"},
	Ask:      {"next", "choices", "timeout", "timeout_next", "where", "from", "untrusted"},
}

// requiredOf maps each verb that has a required attribute to that attribute.
var requiredOf = map[Verb]string{Call: "return", Function: "return", Fork: "next", Ask: "next"}

// ParsedTag is a tag that was found in a text, with the problems in its form.
type ParsedTag struct {
	Tag
	Problems []Problem
	// IsCode is true if the tag is in a code block or a code span of a prompt.
	IsCode bool

	start, end int // byte offsets in the text
}

// scanResult is the result of scanning a text for tags.
type scanResult struct {
	tags     []ParsedTag
	unclosed *Tag // the last opening if the text contains no complete tag; else nil
}

// scan returns the tags in a text of all verbs for which counts returns true.
func scan(s string, counts func(Verb) bool) scanResult { return pairUp(s, tokensOf(s, counts)) }

// pairUp combines the tokens of a text into tags, and checks the form of each tag.
func pairUp(text string, tokens []token) (s scanResult) {
	place := placer{text: text, pos: Pos{1, 1}}
	for _, p := range match(tokens) {
		open, end := tokens[p.open], tokens[p.end]
		t := Tag{Verb: open.verb, Attrs: open.attrs, Body: text[open.end:end.start], Pos: place.at(open.start)}
		parsed, wrong := ParsedTag{Tag: t, start: open.start, end: end.end}, open.wrong
		if isMalformed := t.Attrs == nil && wrong != nil; !isMalformed {
			for _, name := range slices.Sorted(maps.Keys(t.Attrs)) {
				wrong = append(wrong, checkAttribute(t.Verb, name))
			}
			wrong = append(wrong, checkVariables(t))
			if _, ok := t.Attrs[requiredOf[t.Verb]]; !ok && requiredOf[t.Verb] != "" {
				wrong = append(wrong, fmt.Sprintf("attribute %q is missing", requiredOf[t.Verb]))
			}
		}
		for _, why := range wrong {
			if why != "" {
				parsed.Problems = append(parsed.Problems,
					Problem{Pos: t.Pos, Code: "bad-tag", Message: fmt.Sprintf("<%s>: %s", t.Verb, why), Hint: "write " + form(t.Verb)})
			}
		}
		s.tags = append(s.tags, parsed)
	}
	if s.tags != nil {
		return s
	}
	for _, t := range slices.Backward(tokens) {
		if !t.closes {
			s.unclosed = &Tag{Verb: t.verb, Pos: place.at(t.start)}
			break
		}
	}
	return s
}

// pair holds the indices of an opening and its closing.
type pair struct{ open, end int }

// match pairs openings with closings. The pairs are in the order of the openings. Tokens inside a
// result or an ask are skipped, because they are plain text.
func match(tokens []token) (pairs []pair) {
	// closing contains, for each opening of a result or an ask, the index of its closing. It contains 0 for
	// every other token, and for an opening that is never closed.
	closing := make([]int, len(tokens))
	openOf := map[Verb][]int{}
	for i, t := range tokens {
		open := openOf[t.verb]
		switch {
		case !t.verb.quotes():
		case !t.closes:
			openOf[t.verb] = append(open, i)
		case len(open) > 0:
			closing[open[len(open)-1]] = i
			openOf[t.verb] = open[:len(open)-1]
		}
	}
	open := map[Verb]int{} // indices of the last openings, by verb; result and ask are never in it
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		begin, isOpen := open[t.verb]
		switch {
		case closing[i] > 0:
			pairs = append(pairs, pair{i, closing[i]})
			i = closing[i]
		case t.verb.quotes():
		case !t.closes:
			open[t.verb] = i
		case isOpen:
			pairs = append(pairs, pair{begin, i})
			delete(open, t.verb)
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return a.open - b.open })
	return pairs
}

// The roles that a state may have in a tag or a policy.
const (
	roleTarget      = "target"
	roleReturn      = "return"
	roleNext        = "next"
	roleTimeoutNext = "timeout_next"
	roleOnComment   = "on_comment"
)

// StateRef is the name of a state in a tag.
type StateRef struct {
	Role  string // "target", "return", "next" or "timeout_next"
	State string // as written
}

// namesState reports whether a tag of this verb names a state in this role.
func (v Verb) namesState(role string) bool {
	return role == roleTarget && v.HasTarget() || requiredOf[v] == role || role == roleTimeoutNext && v == Ask
}

// StateRefs returns the states that a tag names, ordered by role. It skips a required attribute
// that is missing.
func (t Tag) StateRefs() []StateRef {
	var parts []StateRef
	for _, name := range []string{roleTarget, roleReturn, roleNext, roleTimeoutNext} {
		state, isThere := t.Attrs[name]
		if name == roleTarget {
			state, isThere = t.Body, true
		}
		if isThere && t.Verb.namesState(name) {
			parts = append(parts, StateRef{name, state})
		}
	}
	return parts
}

// checkAttribute returns why a tag can't have an attribute of this name, or "" if it can.
func checkAttribute(v Verb, name string) string {
	switch {
	case slices.Contains(attributesOf[v], name):
		return ""
	case v != Fork:
		return "it has no attribute " + Quote(name)
	case !isVariable(name):
		return fmt.Sprintf("attribute %s is not a name of letters, digits, _ and -", Quote(name))
	}
	return ""
}

// checkVariables returns a message if two variables of a fork would have the same name in the
// environment of a script. Otherwise it returns "".
func checkVariables(t Tag) string {
	if t.Verb != Fork {
		return ""
	}
	names := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.Variables())) {
		key := VariableName(name)
		if other, taken := names[key]; taken {
			return fmt.Sprintf("the attributes %s and %s become the same variable of a script, %s", Quote(other), Quote(name), Quote("RAYMOND_VAR_"+key))
		}
		names[key] = name
	}
	return ""
}

// variableName matches the names of variables. invalidInEnv matches the characters that
// VariableName replaces.
var (
	variableName = pattern(`^[A-Za-z0-9_-]+$`)
	invalidInEnv = pattern(`[^A-Z0-9]`)
)

// VariableName converts the name of a variable, or a name in the run's metadata, to the form that
// follows RAYMOND_VAR_ in the environment of scripts.
func VariableName(name string) string {
	return invalidInEnv().ReplaceAllString(strings.ToUpper(name), "_")
}

// isVariable reports whether name can be a variable of a forked agent.
func isVariable(name string) bool { return variableName().MatchString(name) }

// form returns an example of a tag of this verb, for hints.
func form(v Verb) string { return (&Rule{}).example(v).String() }

// escape encodes the characters that an attribute value must not contain.
var escape = strings.NewReplacer(`"`, "&quot;", "<", "&lt;", ">", "&gt;", "&", "&amp;")

// String returns the tag as text. Scanning the text returns the same Verb, Attrs and Body, unless
// the body contains tags.
func (t Tag) String() string {
	var b strings.Builder
	b.WriteString("<" + string(t.Verb))
	for _, name := range t.attributeNames() {
		fmt.Fprintf(&b, ` %s="%s"`, name, escape.Replace(t.Attrs[name]))
	}
	fmt.Fprintf(&b, ">%s</%s>", t.Body, t.Verb)
	return b.String()
}

// attributeNames returns the names of the tag's attributes in the order of the documentation. A
// fork's variables come last, sorted by name.
func (t Tag) attributeNames() []string {
	names := slices.Clone(attributesOf[t.Verb])
	for _, name := range slices.Sorted(maps.Keys(t.Attrs)) {
		if !slices.Contains(attributesOf[t.Verb], name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { _, ok := t.Attrs[name]; return !ok })
}

// placer converts byte offsets to positions, in one pass over the text. No offset may be smaller
// than the offset before it.
type placer struct {
	text   string
	offset int
	pos    Pos
}

// at returns the position of an offset, which must not be smaller than the offset before.
func (p *placer) at(offset int) Pos {
	passed := p.text[p.offset:offset]
	p.offset = offset
	if lines := strings.Count(passed, "\n"); lines > 0 {
		p.pos = Pos{p.pos.Line + lines, 1}
		passed = passed[strings.LastIndexByte(passed, '\n')+1:]
	}
	p.pos.Col += utf8.RuneCountInString(passed)
	return p.pos
}

package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// attributes of each verb, the required one first where there is one. A fork
// takes any other as well.
var attributesOf = map[Verb][]string{
	Goto:     {"input", "after"},
	Reset:    {"input", "cd", "after"},
	Call:     {"return", "input"},
	Function: {"return", "input", "agent", "model"},
	Fork:     {"next", "input", "cd"},
	Ask:      {"next", "choices", "timeout", "timeout_next", "where", "from", "untrusted"},
}

// requiredOf has the attribute that a verb must have.
var requiredOf = map[Verb]string{Call: "return", Function: "return", Fork: "next", Ask: "next"}

// ParsedTag is a tag in a text, with what is wrong with its form.
type ParsedTag struct {
	Tag
	Problems []Problem
	// IsCode says that the tag stands in a fenced block of a prompt, or behind ticks that have no counterpart before it.
	IsCode bool

	start, end int // offsets in the text
}

// scanned is what there is in a text.
type scanned struct {
	tags     []ParsedTag
	unclosed *Tag // the last opening of a text without tags
}

// scan finds the tags of some verbs in a text.
func scan(text string, counts func(Verb) bool) scanned { return pairUp(text, tokensOf(text, counts)) }

// pairUp makes tags of the tokens of a text.
func pairUp(text string, tokens []token) (s scanned) {
	place := placer{text: text, pos: Pos{1, 1}}
	for _, p := range match(tokens) {
		open, end := tokens[p.open], tokens[p.end]
		t := checked(Tag{Verb: open.verb, Attrs: open.attrs, Body: text[open.end:end.start], Pos: place.at(open.start)}, open.wrong)
		t.start, t.end = open.start, end.end
		s.tags = append(s.tags, t)
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

// match pairs openings with closings, but for those that are quoted in another tag, in the order of the openings.
func match(tokens []token) (pairs []pair) {
	closing := balance(tokens)
	open := map[Verb]int{} // the last opening of each verb that doesn't quote
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

// balance returns for each token that opens a tag which quotes others the index of its
// closing, and 0 for every other.
func balance(tokens []token) []int {
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
	return closing
}

// The parts of a tag and of a policy that name states.
const (
	partTarget      = "target"
	partReturn      = "return"
	partNext        = "next"
	partTimeoutNext = "timeout_next"
	partOnComment   = "on_comment"
)

// StateRef is a part of a tag that names a state.
type StateRef struct {
	Role  string // "target", "return", "next" or "timeout_next"
	State string // as it is written
}

// namesState reports whether a part of a tag of this verb names a state.
func (v Verb) namesState(part string) bool {
	return part == partTarget && v.HasTarget() || requiredOf[v] == part || part == partTimeoutNext && v == Ask
}

// StateRefs returns the parts of a tag that name states. An attribute that must be there
// and isn't is not among them.
func (t Tag) StateRefs() []StateRef {
	var parts []StateRef
	for _, name := range []string{partTarget, partReturn, partNext, partTimeoutNext} {
		state, isThere := t.Attrs[name]
		if name == partTarget {
			state, isThere = t.Body, true
		}
		if isThere && t.Verb.namesState(name) {
			parts = append(parts, StateRef{name, state})
		}
	}
	return parts
}

// checked is a tag with what is wrong with it; some of that is known of its attributes.
func checked(t Tag, wrong []string) ParsedTag {
	w := ParsedTag{Tag: t}
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
			w.Problems = append(w.Problems, Problem{Pos: t.Pos, Code: "bad-tag", Message: fmt.Sprintf("<%s>: %s", t.Verb, why), Hint: "write " + form(t.Verb)})
		}
	}
	return w
}

// checkAttribute says why a tag can't have an attribute of this name, or "".
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

// checkVariables says which two variables of a fork would be the same one in the
// environment of a script, or "".
func checkVariables(t Tag) string {
	if t.Verb != Fork {
		return ""
	}
	names := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.Variables())) {
		key := VariableName(name)
		if other, taken := names[key]; taken {
			return fmt.Sprintf("the attributes %s and %s are the same variable to a script, %s", Quote(other), Quote(name), Quote("RAYMOND_VAR_"+key))
		}
		names[key] = name
	}
	return ""
}

// What names of variables are made of, and what the environment has no letter for.
var (
	variableName = pattern(`^[A-Za-z0-9_-]+$`)
	unspeakable  = pattern(`[^A-Z0-9]`)
)

// VariableName returns what stands for the name of a variable or of metadata, after RAYMOND_VAR_,
// in the environment of scripts.
func VariableName(name string) string {
	return unspeakable().ReplaceAllString(strings.ToUpper(name), "_")
}

// isVariable reports whether name can be a variable of a forked agent.
func isVariable(name string) bool { return variableName().MatchString(name) }

// form shows how a tag is written.
func form(v Verb) string { return (&Rule{}).example(v).String() }

var escape = strings.NewReplacer(`"`, "&quot;", "<", "&lt;", ">", "&gt;", "&", "&amp;")

// String writes the tag so that a scan gives back the same Verb, Attrs and Body, unless the
// body itself holds tags.
func (t Tag) String() string {
	var b strings.Builder
	b.WriteString("<" + string(t.Verb))
	for _, name := range t.attributeNames() {
		fmt.Fprintf(&b, ` %s="%s"`, name, escape.Replace(t.Attrs[name]))
	}
	fmt.Fprintf(&b, ">%s</%s>", t.Body, t.Verb)
	return b.String()
}

// attributeNames returns the names in the order of the documentation, the
// others after them, sorted.
func (t Tag) attributeNames() []string {
	names := slices.Clone(attributesOf[t.Verb])
	for _, name := range slices.Sorted(maps.Keys(t.Attrs)) {
		if !slices.Contains(attributesOf[t.Verb], name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { _, ok := t.Attrs[name]; return !ok })
}

// placer turns ascending offsets into places, in one pass over the text.
type placer struct {
	text   string
	offset int
	pos    Pos
}

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

package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/protocol"
)

// pattern compiles an expression when it is first needed.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// checkTags checks the tags in the text of a state.
func (l *linter) checkTags(d reading) {
	for _, t := range d.Tags {
		if isExample(t) {
			continue
		}
		severity := Error
		if d.State.Policy.Transitions.Restricted || t.Verb.MustBeNamed() || l.isUnreached(d) || d.isInCode(t.Pos) {
			severity = Warning // perhaps it only talks about tags
		}
		for _, p := range slices.Concat(t.Problems, shownProblems(t.Tag)) {
			if p.File = d.State.Name; !d.isComposed(t) {
				l.add(severity, p)
			}
		}
		for _, part := range t.StateParts() {
			l.checkTarget(d, t, part, severity)
		}
		l.checkTrust(d, t, severity)
	}
}

// shownProblems says what is wrong with the values of a tag in the text of a state. What is
// filled in later is not known, and neither is a question.
func shownProblems(t protocol.Tag) []protocol.Problem {
	attrs := map[string]string{}
	for name, value := range t.Attrs {
		if value != "" && !protocol.IsOpen(value) {
			attrs[name] = strings.TrimSpace(value) // a script's escapes leave blanks
		}
	}
	return protocol.Tag{Verb: t.Verb, Attrs: attrs, Body: "?", Pos: t.Pos}.ValueProblems()
}

// isComposed reports whether a script composes the attributes of a tag when it runs, as
// in <fork next="A" $more>.
func (d reading) isComposed(t protocol.Written) bool {
	if d.State.Kind != protocol.Script {
		return false
	}
	for _, r := range []rune(d.line(t))[t.Pos.Col-1:] {
		if r == '>' || strings.ContainsRune("$`%{!", r) {
			return r != '>'
		}
	}
	return false
}

// line is the one in which a tag begins.
func (d reading) line(t protocol.Written) string { return d.Lines[t.Pos.Line-d.State.Line] }

// isExample reports whether a tag shows nothing but its form, as in
// <call>…</call>.
func isExample(t protocol.Written) bool {
	body := strings.TrimSpace(t.Body)
	return t.Verb.HasTarget() && body != "" && strings.Trim(body, ".…") == "" && body != "." && body != ".."
}

// isFirm reports whether the states that a tag names exist or are left open. For others
// there is a finding already.
func (d reading) isFirm(t protocol.Written) bool {
	return !slices.ContainsFunc(t.StateParts(), func(part protocol.StatePart) bool {
		g := d.Goal(part.State)
		return g.State == "" && !g.Open
	})
}

// checkTarget checks one state that a tag names.
func (l *linter) checkTarget(d reading, t protocol.Written, part protocol.StatePart, severity Severity) {
	name := strings.TrimSpace(part.State)
	g := d.Goal(name)
	isPlaceholder := g.Open && (name != "" || part.Name == "target")
	if g.State != "" || isPlaceholder && protocol.IsOpen(name) {
		return
	}
	_, problem := l.w.Resolve(name)
	p := *problem
	p.File, p.Pos = d.State.Name, t.Pos
	p.Message = fmt.Sprintf("%s of <%s>: %s", part.Name, t.Verb, p.Message)
	if isPlaceholder {
		severity, p.Hint = Hint, "taken for a placeholder, because the file shows other transitions"
	}
	l.add(severity, p)
}

// checkTrust checks what bars a tag that names some states, and the variables of a fork.
func (l *linter) checkTrust(d reading, t protocol.Written, severity Severity) {
	if d.State.Kind == protocol.Script && !l.isUnreached(d) {
		severity = Error
	}
	var problems []protocol.Problem
	if d.Permits(t.Tag) {
		problems = d.Barred(t.Tag)
	}
	if why := protocol.Shadowing(t.Variables(), l.o.Meta); t.Verb == protocol.Fork && why != "" {
		problems = append(problems, protocol.Problem{Pos: t.Pos, Code: "bad-tag", Message: "<fork>: " + why})
	}
	for _, p := range problems {
		p.File = d.State.Name
		l.add(severity, p)
	}
}

// anyCase is a tag of ours, however it is written; bareAsk is a question that names no state for its answer.
var (
	anyCase = pattern(`(?i)<(goto|reset|call|function|fork|result|join|ask)(\s[^<>]*)?>`)
	bareAsk = pattern(`<ask>[^<>]*\pL[^<>]*</ask>`)
)

// checkTagForm warns of the first thing that looks like a tag and is none.
func (l *linter) checkTagForm(d reading) {
	for i, line := range d.Lines {
		if d.IsComment(line) {
			continue
		}
		if p := l.misspelled(d, line); p != nil {
			l.warn(d, d.place(i, p.Pos.Col), *p)
			return // one of them shows what is wrong with the others
		}
	}
}

// misspelled says what is wrong with the first tag of a line that is written wrong, with the index of its byte as
// the column.
func (l *linter) misspelled(d reading, line string) *protocol.Problem {
	p := &d.State.Policy.Transitions
	for _, m := range anyCase().FindAllStringSubmatchIndex(line, -1) {
		name := line[m[2]:m[3]]
		lower := strings.ToLower(name)
		if verb := protocol.Verb(lower); name != lower && (!verb.MustBeNamed() || p.Restricted && p.Names(verb)) {
			return &protocol.Problem{Pos: protocol.Pos{Col: m[0]}, Code: "tag-case",
				Message: fmt.Sprintf("<%s> is not a tag: tags are written in lower case", name), Hint: fmt.Sprintf("write <%s>", lower)}
		}
	}
	if at := bareAsk().FindStringIndex(line); at != nil && !p.Restricted {
		return &protocol.Problem{Pos: protocol.Pos{Col: at[0]}, Code: "ask-next", Message: "this <ask> names no state that gets the answer", Hint: `write <ask next="STATE">…</ask>`}
	}
	if near := l.w.NearTag(line); near != nil {
		near.Pos.Col = len(string([]rune(line)[:near.Pos.Col-1]))
		return near
	}
	return nil
}

// place is that of a byte in a line of the text.
func (d reading) place(line, at int) protocol.Pos {
	return protocol.Pos{Line: d.State.Line + line, Col: 1 + len([]rune(d.Lines[line][:at]))}
}

// ticks begin and end code in a line of Markdown.
var ticks = pattern("`+")

// isInCode reports whether a place in the text of a prompt is code: in a fenced block, or behind ticks that have no
// counterpart before it.
func (d reading) isInCode(pos protocol.Pos) bool {
	if d.State.Kind != protocol.Prompt {
		return false
	}
	at, fence := pos.Line-d.State.Line, protocol.CodeFence("")
	for _, line := range d.Lines[:at+1] {
		fence = fence.After(line)
	}
	before := string([]rune(d.Lines[at])[:pos.Col-1])
	return fence != "" || len(ticks().FindAllString(before, -1))%2 == 1
}

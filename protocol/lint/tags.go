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
		if d.State.Policy.Transitions.Restricted || t.Verb.MustBeNamed() || l.isUnreached(d) || t.IsCode {
			severity = Warning // perhaps it only talks about tags
		}
		for _, p := range slices.Concat(t.Problems, shownProblems(t.Tag)) {
			if p.File = d.State.Name; !d.isComposed(t) {
				l.add(severity, p)
			}
		}
		for _, part := range t.StateRefs() {
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
func (d reading) isComposed(t protocol.ParsedTag) bool {
	if d.State.Kind != protocol.Script {
		return false
	}
	for _, r := range d.Source(t) {
		if r == '>' || strings.ContainsRune("$`%{!", r) {
			return r != '>'
		}
	}
	return false
}

// isExample reports whether a tag shows nothing but its form, as in
// <call>…</call>.
func isExample(t protocol.ParsedTag) bool {
	body := strings.TrimSpace(t.Body)
	return t.Verb.HasTarget() && body != "" && strings.Trim(body, ".…") == "" && body != "." && body != ".."
}

// isFirm reports whether the states that a tag names exist or are left open. For others
// there is a finding already.
func (d reading) isFirm(t protocol.ParsedTag) bool {
	return !slices.ContainsFunc(t.StateRefs(), func(part protocol.StateRef) bool {
		g := d.Target(part.State)
		return g.State == "" && !g.Open
	})
}

// checkTarget checks one state that a tag names.
func (l *linter) checkTarget(d reading, t protocol.ParsedTag, part protocol.StateRef, severity Severity) {
	name := strings.TrimSpace(part.State)
	g := d.Target(name)
	isPlaceholder := g.Open && (name != "" || part.Role == "target")
	if g.State != "" || isPlaceholder && protocol.IsOpen(name) {
		return
	}
	_, problem := l.w.Resolve(name)
	p := *problem
	p.File, p.Pos = d.State.Name, t.Pos
	p.Message = fmt.Sprintf("%s of <%s>: %s", part.Role, t.Verb, p.Message)
	if isPlaceholder {
		severity, p.Hint = Hint, "taken for a placeholder, because the file shows other transitions"
	}
	l.add(severity, p)
}

// checkTrust checks what bars a tag that names some states, and the variables of a fork.
func (l *linter) checkTrust(d reading, t protocol.ParsedTag, severity Severity) {
	if d.State.Kind == protocol.Script && !l.isUnreached(d) {
		severity = Error
	}
	var problems []protocol.Problem
	if d.Permits(t.Tag) {
		problems = d.TrustProblems(t.Tag)
	}
	if why := protocol.ShadowedMeta(t.Variables(), l.o.Meta); t.Verb == protocol.Fork && why != "" {
		problems = append(problems, protocol.Problem{Pos: t.Pos, Code: "bad-tag", Message: "<fork>: " + why})
	}
	for _, p := range problems {
		p.File = d.State.Name
		l.add(severity, p)
	}
}

// bareAsk matches a question that names no state for its answer.
var bareAsk = pattern(`<ask>[^<>]*\pL[^<>]*</ask>`)

// checkTagForm warns of text that looks like a tag and is not one.
func (l *linter) checkTagForm(d reading) {
	for _, p := range d.MalformedTags() {
		l.warn(d, p.Pos, p)
	}
	for i, line := range d.Lines {
		if at := bareAsk().FindStringIndex(line); at != nil && !d.State.Policy.Transitions.Restricted && !d.IsComment(line) {
			l.warn(d, d.place(i, at[0]), protocol.Problem{Code: "ask-next", Message: "this <ask> names no state that gets the answer", Hint: `write <ask next="STATE">…</ask>`})
			return // one of them shows what is wrong with the others
		}
	}
}

// place is that of a byte in a line of the text.
func (d reading) place(line, at int) protocol.Pos {
	return protocol.Pos{Line: d.State.Line + line, Col: 1 + len([]rune(d.Lines[line][:at]))}
}

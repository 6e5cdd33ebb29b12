package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/protocol"
)

// pattern returns a function that compiles an expression on its first call.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// checkTags checks the tags in the text of a state. It skips tags that only show the form of a tag.
func (l *linter) checkTags(d checkedState) {
	for _, t := range d.Tags {
		if isExample(t) {
			continue
		}
		severity := Error
		if d.State.Policy.Transitions.Restricted || t.Verb.MustBeNamed() || l.isUnreached(d) || t.IsCode {
			severity = Warning // the text may only describe tags
		}
		for _, p := range slices.Concat(t.Problems, shownProblems(t.Tag)) {
			if p.File = d.State.Name; !d.isComposed(t) {
				l.add(severity, p)
			}
		}
		for _, ref := range t.StateRefs() {
			l.checkTarget(d, t, ref, severity)
		}
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
}

// shownProblems returns the problems with attribute values of a tag in the text of a state. It
// skips values that are filled in later, and the question of an ask.
func shownProblems(t protocol.Tag) []protocol.Problem {
	attrs := map[string]string{}
	for name, value := range t.Attrs {
		if value != "" && !protocol.IsOpen(value) {
			attrs[name] = strings.TrimSpace(value) // escapes in a script were replaced by spaces
		}
	}
	return protocol.Tag{Verb: t.Verb, Attrs: attrs, Body: "?", Pos: t.Pos}.ValueProblems()
}

// isComposed reports whether a script composes the attributes of a tag when it runs, as
// in <fork next="A" $more>.
func (d checkedState) isComposed(t protocol.ParsedTag) bool {
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

// isExample reports whether a tag only shows its form, as in <call>…</call>.
func isExample(t protocol.ParsedTag) bool {
	body := strings.TrimSpace(t.Body)
	return t.Verb.HasTarget() && body != "" && strings.Trim(body, ".…") == "" && body != "." && body != ".."
}

// namesKnownStates reports whether every state that a tag names exists or is known only when the
// state runs. For other tags, checkTarget adds a finding.
func (d checkedState) namesKnownStates(t protocol.ParsedTag) bool {
	return !slices.ContainsFunc(t.StateRefs(), func(ref protocol.StateRef) bool {
		g := d.Target(ref.State)
		return g.State == "" && !g.Open
	})
}

// checkTarget checks that a state which a tag names exists.
func (l *linter) checkTarget(d checkedState, t protocol.ParsedTag, ref protocol.StateRef, severity Severity) {
	name := strings.TrimSpace(ref.State)
	g := d.Target(name)
	isPlaceholder := g.Open && (name != "" || ref.Role == "target")
	if g.State != "" || isPlaceholder && protocol.IsOpen(name) {
		return
	}
	_, problem := l.w.Resolve(name)
	p := *problem
	p.File, p.Pos = d.State.Name, t.Pos
	p.Message = fmt.Sprintf("%s of <%s>: %s", ref.Role, t.Verb, p.Message)
	if isPlaceholder {
		severity, p.Hint = Hint, "taken for a placeholder, because the file shows other transitions"
	}
	l.add(severity, p)
}

// bareAsk matches an ask that names no state for its answer.
var bareAsk = pattern(`<ask>[^<>]*\pL[^<>]*</ask>`)

// checkTagForm warns about text that looks like a tag but is not one.
func (l *linter) checkTagForm(d checkedState) {
	for _, p := range d.MalformedTags() {
		l.warn(d, p.Pos, p)
	}
	for i, line := range d.Lines {
		if at := bareAsk().FindStringIndex(line); at != nil && !d.State.Policy.Transitions.Restricted && !d.IsComment(line) {
			l.warn(d, d.posOf(i, at[0]), protocol.Problem{Code: "ask-next", Message: "this <ask> names no state that gets the answer", Hint: `write <ask next="STATE">…</ask>`})
			return // one finding is enough to show the mistake
		}
	}
}

// posOf returns the position of a byte in a line of the text.
func (d checkedState) posOf(line, at int) protocol.Pos {
	return protocol.Pos{Line: d.State.Line + line, Col: 1 + len([]rune(d.Lines[line][:at]))}
}

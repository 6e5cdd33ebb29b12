package protocol

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Severity says how much a finding matters.
type Severity string

// The severities. Only an error makes a workflow unfit to run.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityHint    Severity = "hint"
)

// Finding is something that lint found in a workflow. File is "" when it is about the
// whole workflow; otherwise Pos is not zero.
type Finding struct {
	Severity Severity
	Problem
}

// LintOptions say how a workflow will be run.
type LintOptions struct {
	LoadOptions
	// Meta names the metadata that runs will be given.
	Meta []string
	// Loop says that the entry is a plain prompt that is repeated until commands say that
	// it is done, so that it needs no transition.
	Loop bool
	// Backend is the agent CLI of the run; "" for DefaultBackend.
	Backend string
	// CantBranch are the agent CLIs whose conversations can't be branched.
	CantBranch []string
}

// Lint reads a workflow as Load does, and returns what is wrong with it and what looks
// wrong, sorted by file and place. It checks the states that the entry leads to and,
// unless the entry is a single file, every other file that is meant as a state.
//
// Errors are the problems that forbid a start, and wrong targets and attributes in the
// tags of states that the entry leads to. Everything else is a warning or a hint, also
// what is wrong in a tag that may be an example, because there is a policy or because
// the tag is in a code block.
func Lint(fsys fs.FS, o LintOptions) []Finding {
	w, problems := Load(fsys, o.LoadOptions)
	chart := w.Chart()
	l := &linter{w: w, chart: chart, routes: newRoutes(chart), supply: newSupply(chart, o.Meta), o: o}
	if w.entry == "" {
		for _, p := range problems {
			l.add(SeverityError, p)
		}
	}
	for _, name := range w.catalog.names {
		if l.looksAt(name) {
			l.checkState(chart.readings[name])
		}
	}
	l.checkLoops()
	l.checkAgents()
	SortFindings(l.found)
	return slices.Compact(l.found)
}

// SortFindings sorts findings by file, place, code and message.
func SortFindings(found []Finding) {
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col,
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
}

// linter collects what lint finds.
type linter struct {
	w      *Workflow
	chart  *Chart
	routes routes
	supply supply
	o      LintOptions
	found  []Finding
}

func (l *linter) add(severity Severity, p Problem) {
	if p.File != "" {
		p.Pos = Pos{max(1, p.Pos.Line), max(1, p.Pos.Col)}
	}
	l.found = append(l.found, Finding{severity, p})
}

// warn adds a warning about a place of a state.
func (l *linter) warn(s *State, pos Pos, p Problem) {
	p.File, p.Pos = s.Name, pos
	l.add(SeverityWarning, p)
}

// looksAt reports whether a file is checked. When the entry is a single file, other
// files beside it may belong to other workflows.
func (l *linter) looksAt(name string) bool {
	return l.chart.reaches(name) || l.o.Entry == "" && l.w.isMeant(name) ||
		slices.ContainsFunc(l.w.states[name].Problems, func(p Problem) bool { return l.w.forbids(name, p) })
}

// isUnreached reports whether nothing leads from the entry to a state.
func (l *linter) isUnreached(name string) bool { return l.w.entry != "" && !l.chart.reaches(name) }

// mayReachMore reports whether a state on the way can't be read, so that it may lead to
// states that nothing else leads to.
func (l *linter) mayReachMore() bool {
	return slices.ContainsFunc(l.w.catalog.names, func(n string) bool { return l.chart.reaches(n) && len(l.w.states[n].Problems) > 0 })
}

// unreadable are the codes of problems after which nothing else is known of a state.
var unreadable = []string{"duplicate-key", "frontmatter", "misplaced", "not-regular", "not-utf8", "unreadable", "yaml"}

// isUnreadable reports whether nothing is known of a state except what is wrong with its
// file.
func (s *State) isUnreadable() bool {
	return slices.ContainsFunc(s.Problems, func(p Problem) bool { return slices.Contains(unreadable, p.Code) })
}

// checkState checks one state. Of a file that can't be read it only says so: one problem
// is one finding.
func (l *linter) checkState(d *reading) {
	for _, p := range d.s.Problems {
		severity := SeverityError
		if l.isUnreached(d.s.Name) && !l.w.forbids(d.s.Name, p) {
			severity = SeverityWarning
		}
		l.add(severity, p)
	}
	for _, p := range d.s.Warnings {
		l.add(SeverityWarning, p)
	}
	if d.s.isUnreadable() || len(d.s.Problems) > 0 && l.isUnreached(d.s.Name) {
		return
	}
	if l.isUnreached(d.s.Name) && !l.mayReachMore() {
		l.warn(d.s, Pos{}, Problem{Code: "unreachable", Message: "nothing leads to this state",
			Hint: "name it in a tag or a policy, or move it out of the folder"})
	}
	l.checkOnComment(d.s)
	l.checkTags(d)
	l.checkTagCase(d)
	l.checkForks(d)
	l.checkNeeds(d)
	l.checkTemplates(d.s)
	if len(d.s.Problems) > 0 {
		return
	}
	l.checkPolicy(d)
	l.checkPayloads(d)
	l.checkReturns(d)
	if l.chart.reaches(d.s.Name) {
		l.checkWayOut(d)
	}
}

// checkOnComment checks that the state whose run a comment continues is the first one.
func (l *linter) checkOnComment(s *State) {
	for _, r := range s.References {
		if r.Part == partOnComment && s.Name != l.w.entry {
			l.warn(s, r.Pos, Problem{Code: "on-comment", Message: "on_comment has no effect here: only that of the first state counts",
				Hint: "move it to " + l.w.entry})
		}
	}
}

// checkTags checks the tags in the text of a state.
func (l *linter) checkTags(d *reading) {
	code := d.code()
	for _, t := range d.tags {
		if isExample(t) {
			continue
		}
		severity := SeverityError
		if d.s.Policy.Transitions.Restricted || t.Verb.mustBeNamed() || l.isUnreached(d.s.Name) || code.has(t.Pos) {
			severity = SeverityWarning // perhaps it only talks about tags
		}
		for _, p := range slices.Concat(t.problems, shownProblems(t.Tag)) {
			if p.File = d.s.Name; !d.isComposed(t) {
				l.add(severity, p)
			}
		}
		states := map[string]string{}
		for _, part := range t.stateParts() {
			l.checkTarget(d, t, part, severity)
			if name := d.goal(part.state).State; name != "" {
				states[part.name] = name
			}
		}
		l.checkTrust(d, t, states, severity)
	}
}

// shownProblems says what is wrong with the values of a tag in the text of a state. What is
// filled in later is not known, and neither is a question.
func shownProblems(t Tag) []Problem {
	attrs := map[string]string{}
	for name, value := range t.Attrs {
		if value != "" && !isOpen(value) {
			attrs[name] = strings.TrimSpace(value) // a script's escapes leave blanks
		}
	}
	known := Tag{Verb: t.Verb, Attrs: attrs, Body: "?", Pos: t.Pos}
	return known.valueProblems()
}

// isComposed reports whether a script composes the attributes of a tag when it runs, as
// in <fork next="A" $more>.
func (d *reading) isComposed(t written) bool {
	if d.s.Kind != Script {
		return false
	}
	for _, r := range []rune(d.lines[t.Pos.Line-d.s.Line])[t.Pos.Col-1:] {
		if r == '>' || strings.ContainsRune("$`%{!", r) {
			return r != '>'
		}
	}
	return false
}

// isExample reports whether a tag shows nothing but its form, as in
// <call>…</call>.
func isExample(t written) bool {
	body := strings.TrimSpace(t.Body)
	return t.Verb.hasTarget() && body != "" && strings.Trim(body, ".…") == "" && body != "." && body != ".."
}

// checkTarget checks one state that a tag names.
func (l *linter) checkTarget(d *reading, t written, part statePart, severity Severity) {
	name := strings.TrimSpace(part.state)
	g := d.goal(name)
	g.Open = g.Open && (name != "" || part.name == partTarget)
	switch {
	case g.State != "" || g.Open && isOpen(name):
		return
	case g.Open:
		severity = SeverityHint
	}
	_, problem := l.w.Resolve(name)
	p := *problem
	p.File, p.Pos = d.s.Name, t.Pos
	p.Message = fmt.Sprintf("%s of <%s>: %s", part.name, t.Verb, p.Message)
	if g.Open {
		p.Hint = "taken for a placeholder, because the file shows other transitions"
	}
	l.add(severity, p)
}

// checkWayOut checks that a state can end with a transition.
func (l *linter) checkWayOut(d *reading) {
	for _, e := range l.chart.exits[d.s.Name] {
		if !e.OnExhausted {
			return
		}
	}
	switch {
	case d.s.Kind == Script:
		l.add(SeverityHint, Problem{File: d.s.Name, Code: "no-tag",
			Message: "the script shows no transition tag; on every path it must print one"})
	case d.s.Policy.Transitions.Restricted: // nothing-allowed says it, or each tag is a finding
	case d.s.Name == l.w.entry && l.o.Loop:
	case !opening().MatchString(d.s.Body):
		hint := "tell the agent how to end, as in <result>…</result>"
		if d.s.Name == l.w.entry && !d.s.Claims.Marked && !d.s.Claims.Keyed {
			hint += ", or run it with --done-when"
		}
		l.warn(d.s, Pos{Line: d.s.Line}, Problem{Code: "dead-end",
			Message: "no tag and no policy leads out of this state", Hint: hint})
	}
}

// opening is a tag that is mentioned without a closing, as in "a <result> tag".
var opening = pattern(`<(goto|reset|call|function|fork|result|join)\b|<ask\s`)

// checkReturns checks that the states that are called can return.
func (l *linter) checkReturns(d *reading) {
	for _, e := range l.chart.exits[d.s.Name] {
		if e.Verb != Call && e.Verb != Function || e.Target.State == "" || l.routes.ends[e.Target.State] {
			continue
		}
		l.warn(d.s, e.Pos, Problem{Code: "no-return",
			Message: fmt.Sprintf("<%s> to %s never returns: no <result> can be reached from there", e.Verb, quote(e.Target.Name)),
			Hint:    fmt.Sprintf("end it with <result>, or %s is never run", cmp.Or(e.After.Name, "the return"))})
	}
}

// checkLoops checks that every loop has a way out. One that has none is reported
// once, at its first state.
func (l *linter) checkLoops() {
	told := map[string]bool{}
	for _, name := range slices.Concat([]string{l.w.entry}, l.w.catalog.names) {
		if !l.chart.reaches(name) || told[name] || l.routes.ends[name] {
			continue
		}
		loop := l.routes.loopAt(name)
		if len(loop) == 0 {
			continue
		}
		for n := range loop {
			told[n] = true
		}
		l.endless(name, slices.Sorted(maps.Keys(loop)))
	}
}

func (l *linter) endless(name string, loop []string) {
	message := "this state leads only to itself: the loop has no way out"
	if len(loop) > 1 {
		message = fmt.Sprintf("%s lead only to each other: the loop has no way out", quoteAll(loop))
	}
	var pos Pos
	for _, e := range slices.Backward(l.chart.exits[name]) {
		if slices.ContainsFunc(l.routes.successors(e), func(n string) bool { return slices.Contains(loop, n) }) {
			pos = e.Pos
		}
	}
	l.warn(l.w.states[name], pos, Problem{Code: "endless", Message: message,
		Hint: "let one of its states end with <result>; else only a limit of the run ends it"})
}

// Package lint finds mistakes, and signs of mistakes, in a workflow and in the jobs that run it.
// Like package protocol it uses no clock, environment or process.
package lint

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// Severity is the importance of a finding.
type Severity string

// The severities. Only an error makes a workflow unfit to run.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Hint    Severity = "hint"
)

// Finding is a problem in a workflow, with its severity. If the problem concerns the whole
// workflow, File is empty. Otherwise Pos is not zero.
type Finding struct {
	Severity Severity
	protocol.Problem
}

// Options describe how a workflow will be run.
type Options struct {
	protocol.LoadOptions
	// Meta contains the names in the metadata that runs will have.
	Meta []string
	// Loop is true if the workflow's first state is a plain prompt that is repeated until commands
	// pass, so that it needs no transition.
	Loop bool
	// Backend is the agent CLI of the run. If empty, it is protocol.DefaultBackend.
	Backend string
}

// Workflow reads a workflow as protocol.Load does, and returns its findings, sorted by file and
// position. It checks the states that can be reached from the first state. It also checks every
// other file that looks like a state, unless the workflow is a single file (LoadOptions.Entry).
//
// Errors are the problems that prevent a run from starting. In states that can be reached from the
// first state, mistakes that certainly make a run fail are errors too: wrong targets and attributes
// in tags, a conversation that another agent CLI would continue, several forks of a script that may
// write only one, and a payload that is missing or does not fit a schema. Everything else is a
// warning or a hint. So are mistakes in a tag that may be an example, because the state has a
// policy or because the tag is in a code block.
func Workflow(fsys fs.FS, o Options) []Finding {
	w, problems := protocol.Load(fsys, o.LoadOptions)
	chart := w.Chart()
	l := &linter{w: w, chart: chart, ends: endsOf(w, chart), o: o}
	l.names = l.suppliedNames()
	if w.Entry() == "" {
		for _, p := range problems {
			l.add(Error, p)
		}
	}
	for _, name := range w.Names() {
		if d := (checkedState{chart.Analysis(name)}); l.chart.Reaches(d.State.Name) || l.o.Entry == "" && l.w.IsMeantAsState(d.State.Name) ||
			slices.ContainsFunc(d.State.Problems, func(p protocol.Problem) bool { return l.w.ForbidsStart(d.State.Name, p) }) {
			l.checkState(d)
		}
	}
	l.checkLoops()
	v := l.chart.Conversations(l.o.Backend, "")
	hasHint := false
	for _, name := range l.chart.States() {
		if l.chart.Analysis(name).State.Kind == protocol.Script && v.IsIncomplete {
			continue
		}
		for _, e := range l.chart.Exits(name) {
			for _, to := range e.ContinuedStates() {
				l.checkAgent(v, name, e, to)
				hasHint = hasHint || l.addCommandHint(v, name, e, to)
			}
		}
	}
	Sort(l.found)
	return slices.Compact(l.found)
}

// Sort sorts findings by file, position, code and message.
func Sort(found []Finding) {
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col,
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
}

// linter collects the findings about a workflow.
type linter struct {
	w     *protocol.Workflow
	chart *protocol.Chart
	ends  map[string]bool // states from which a result can be reached
	names map[string]bool // names that templates of any state may contain; nil if unknown
	o     Options
	found []Finding
}

// checkedState is the state that a check is about, with its analysis.
type checkedState struct{ *protocol.Analysis }

// add adds a finding. A finding about a file without a position gets line 1 and column 1.
func (l *linter) add(severity Severity, p protocol.Problem) {
	if p.File != "" {
		p.Pos = protocol.Pos{Line: max(1, p.Pos.Line), Col: max(1, p.Pos.Col)}
	}
	l.found = append(l.found, Finding{severity, p})
}

// warn adds a warning at a position in the file of a state.
func (l *linter) warn(d checkedState, pos protocol.Pos, p protocol.Problem) {
	p.File, p.Pos = d.State.Name, pos
	l.add(Warning, p)
}

// isUnreached reports whether a state can't be reached from the workflow's first state.
func (l *linter) isUnreached(d checkedState) bool {
	return l.w.Entry() != "" && !l.chart.Reaches(d.State.Name)
}

// unreadable are the codes of problems that leave the content of a state unknown.
var unreadable = []string{"duplicate-key", "frontmatter", "misplaced", "not-regular", "not-utf8", "unreadable", "yaml"}

// isUnreadable reports whether problems in a state's file leave its content unknown.
func isUnreadable(s *protocol.State) bool {
	return slices.ContainsFunc(s.Problems, func(p protocol.Problem) bool { return slices.Contains(unreadable, p.Code) })
}

// checkState checks one state. If the state's file can't be read, checkState reports only that.
func (l *linter) checkState(d checkedState) {
	s := d.State
	for _, p := range s.Problems {
		severity := Error
		if l.isUnreached(d) && !l.w.ForbidsStart(s.Name, p) {
			severity = Warning
		}
		l.add(severity, p)
	}
	for _, p := range s.Warnings {
		l.add(Warning, p)
	}
	if isUnreadable(s) || len(s.Problems) > 0 && l.isUnreached(d) {
		return
	}
	isBroken := func(name string) bool { return len(l.chart.Analysis(name).State.Problems) > 0 } // a broken state may go to any state
	if l.isUnreached(d) && !slices.ContainsFunc(l.chart.States(), isBroken) {
		l.warn(d, protocol.Pos{}, protocol.Problem{Code: "unreachable", Message: "nothing leads to this state",
			Hint: "name it in a tag or a policy, or move it out of the folder"})
	}
	for _, r := range d.State.References {
		if r.Role == "on_comment" && d.State.Name != l.w.Entry() {
			l.warn(d, r.Pos, protocol.Problem{Code: "on-comment", Message: "on_comment has no effect here: only the first state can use it",
				Hint: "move it to " + l.w.Entry()})
		}
	}
	l.checkTags(d)
	l.checkTagForm(d)
	l.checkForks(d)
	l.checkNeeds(d)
	l.checkBatch(d)
	l.checkTemplates(d)
	if len(s.Problems) > 0 {
		return
	}
	l.checkPolicy(d)
	l.checkPayloads(d)
	l.checkReturns(d)
	if l.chart.Reaches(s.Name) {
		l.checkWayOut(d)
	}
}

// checkPolicy finds tags in the text of a state that its policy doesn't allow. It also finds entries
// of allowed_transitions for an ask that name no next state.
func (l *linter) checkPolicy(d checkedState) {
	for _, t := range d.Tags {
		if len(t.Problems) > 0 || !d.namesKnownStates(t) || d.Permits(t.Tag) {
			continue
		}
		p := protocol.NotAllowed(t.Tag)
		if d.State.Policy.Transitions.Restricted {
			p.Message = strings.TrimSuffix(p.Message, " in this state") + " by the policy of this state"
		}
		p.Code, p.Hint = "forbidden", cmp.Or(p.Hint, "allow it, or don't show it to the agent")
		l.warn(d, t.Pos, p)
	}
	for _, r := range d.State.Policy.Transitions.Allowed {
		if r.Tag == protocol.Ask && r.States["next"] == "" {
			l.warn(d, r.Pos, protocol.Problem{Code: "ask-next", Message: "the entry for <ask> names no next, so the agent chooses which state gets the answer",
				Hint: "write next: STATE"})
		}
	}
}

// checkWayOut checks that a state can end with a transition.
func (l *linter) checkWayOut(d checkedState) {
	for _, e := range l.chart.Exits(d.State.Name) {
		if !e.OnExhausted {
			return
		}
	}
	switch {
	case d.State.Kind == protocol.Script:
		l.add(Hint, protocol.Problem{File: d.State.Name, Code: "no-tag",
			Message: "the script shows no transition tag; on every path it must print one"})
	case d.State.Policy.Transitions.Restricted: // the finding nothing-allowed, or one about each tag, reports this
	case d.State.Name == l.w.Entry() && l.o.Loop:
	case !opening().MatchString(d.State.Body):
		hint := "tell the agent how to end, as in <result>…</result>"
		if l.canLoop(d.State) {
			hint += ", or run it with --done-when"
		}
		l.warn(d, protocol.Pos{Line: d.State.Line}, protocol.Problem{Code: "dead-end", Message: "no tag and no policy leads out of this state", Hint: hint})
	}
}

// opening matches the opening of a tag, which may have no closing, as in "a <result> tag".
var opening = pattern(`<(goto|reset|call|function|fork|result|join)\b|<ask\s`)

// checkTemplates finds names in the templates of a prompt that never have a value.
func (l *linter) checkTemplates(d checkedState) {
	if d.State.Kind != protocol.Prompt || l.names == nil {
		return
	}
	reported := map[string]bool{}
	for _, t := range protocol.Templates(d.State.Body) {
		if reported[t.Name] || t.IsForeign || l.isSupplied(d.State, t.Name) {
			continue
		}
		reported[t.Name] = true
		t.Pos.Line += d.State.Line - 1
		hint := protocol.DidYouMean(t.Name, sortedKeys(l.names))
		switch {
		case t.Name == "attempt" || t.Name == "max_attempts" || t.Name == "failure":
			hint = "only a state with done_when has it"
		case hint == "":
			hint = "supply it with a fork attribute or with --meta " + t.Name + "=…; for lint, add --meta " + t.Name
		}
		l.warn(d, t.Pos, protocol.Problem{Code: "unknown-name", Message: fmt.Sprintf("nothing supplies {{%s}}", t.Name), Hint: hint})
	}
}

// checkAgent reports an error if a transition continues a conversation of one agent CLI in a state
// that needs another agent CLI. e is the transition, from and to are the states before and after it.
func (l *linter) checkAgent(v *protocol.Conversations, from string, e protocol.Exit, to string) {
	backend := l.chart.Analysis(to).State.Policy.Backend
	all := sortedKeys(v.BackendsAfter(from))
	others := slices.DeleteFunc(slices.Clone(all), func(b string) bool { return b == "" || b == backend })
	// A script may check which agent CLI holds the conversation before it goes to the state.
	isUnsure := l.chart.Analysis(from).State.Kind == protocol.Script && len(others) < len(all)
	if backend == "" || len(others) == 0 || isUnsure || slices.Contains(all, protocol.AnyBackend) {
		return
	}
	l.add(Error, protocol.Problem{File: from, Pos: e.Pos, Code: "agent",
		Message: fmt.Sprintf("<%s> would continue a conversation of the agent %s in %s, which %s runs", e.Verb, others[0], to, backend),
		Hint:    "reach it by <reset>, <function> or <fork>, or let the same agent run both states"})
}

// addCommandHint adds a hint if the user's own program must be able to continue a conversation after
// the transition e, in the state to. It reports whether it added a hint.
func (l *linter) addCommandHint(v *protocol.Conversations, from string, e protocol.Exit, to string) bool {
	after := v.BackendsAfter(from)
	if l.chart.Analysis(to).State.Kind != protocol.Prompt || len(after) != 1 || !after[protocol.BackendCommand] ||
		v.BackendOf(to, protocol.BackendCommand) != protocol.BackendCommand {
		return false
	}
	message := fmt.Sprintf("<%s> continues a conversation in %s: if the program reports no session, a new conversation begins there", e.Verb, to)
	if e.Verb == protocol.Call {
		message = fmt.Sprintf("<call> branches a conversation for %s: if the program reports no session, the agent fails", e.Target.State)
	}
	l.add(Hint, protocol.Problem{File: from, Pos: e.Pos, Code: "command-session", Message: message})
	return true
}

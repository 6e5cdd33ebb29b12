package protocol

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// checkPayloads holds the inputs and results that a state shows to the schemas of the states
// that get them.
func (l *linter) checkPayloads(d *reading) {
	for _, t := range d.tags {
		switch isMeant := len(t.problems) == 0 && d.isFirm(t) && !isExample(t) && d.permits(t.Tag); {
		case isMeant && t.Verb == Result:
			l.checkShownResult(d, t)
		case isMeant:
			l.checkShownInput(d, t)
		}
	}
	for _, r := range d.s.Policy.Transitions.Allowed {
		l.checkRule(d, r)
	}
	for _, e := range l.chart.exits[d.s.Name] {
		to := e.Target.State
		if e.Verb == Fork {
			to = e.After.State
		}
		if e.Verb == Fork || e.OnExhausted || e.TimedOut {
			l.checkNoPayload(d, e, to)
		}
	}
}

// checkNoPayload checks that a state which gets no payload can start without one.
func (l *linter) checkNoPayload(d *reading, e Exit, to string) {
	if s, ok := l.w.states[to]; ok && s.Policy.InputSchema != nil {
		what := "next of <fork>"
		switch {
		case e.OnExhausted:
			what = "on_exhausted"
		case e.TimedOut:
			what = "timeout_next"
		}
		l.addPayload(d, e.Pos, SeverityError, fmt.Sprintf("%s brings %s no payload, and its input_schema wants one", what, to))
	}
}

func (l *linter) addPayload(d *reading, pos Pos, severity Severity, message string) {
	if l.isUnreached(d.s.Name) {
		severity = SeverityWarning
	}
	l.add(severity, Problem{File: d.s.Name, Pos: pos, Code: "payload", Message: message})
}

// checkShownResult checks a result in the text of a state, which perhaps shows nothing but
// the form.
func (l *linter) checkShownResult(d *reading, t written) {
	if isJSON(t.Body) {
		l.addMisfits(d, t.Pos, SeverityWarning, misfits(d.s.Policy.ResultSchema, t.Body, "the result does not fit the result_schema of this state"))
	}
}

// checkShownInput checks the input of a tag in the text of a state.
func (l *linter) checkShownInput(d *reading, t written) {
	to, ok := l.w.states[d.goal(t.Body).State]
	if !ok || !t.Verb.hasTarget() || to.Policy.InputSchema == nil || t.Verb == Join {
		return
	}
	input, known := t.Attrs["input"]
	switch {
	case !known && !d.isComposed(t):
		l.addPayload(d, t.Pos, SeverityWarning, fmt.Sprintf("<%s> has no input, and the input_schema of %s wants one", t.Verb, to.Name))
	case known && !d.isOpenPayload(t, input):
		severity := SeverityError
		if d.s.Kind == Prompt && !isJSON(input) && (len(strings.Fields(input)) > 1 || isOpen(input)) {
			severity = SeverityWarning // it describes what the agent writes there
		}
		l.addMisfits(d, t.Pos, severity, misfits(to.Policy.InputSchema, input, fmt.Sprintf("the input of <%s> does not fit the input_schema of %s", t.Verb, to.Name)))
	}
}

func (l *linter) addMisfits(d *reading, pos Pos, severity Severity, list []Problem) {
	for _, p := range list {
		l.addPayload(d, pos, severity, p.Message)
	}
}

// isOpenPayload reports whether parts of a payload are filled in later, or written with
// escapes of a script's language.
func (d *reading) isOpenPayload(t written, text string) bool {
	if d.s.Kind == Script {
		return strings.ContainsAny(d.lines[t.Pos.Line-d.s.Line], "$`%!\\^")
	}
	return strings.Contains(text, "{{") || strings.Contains(text, "…") || strings.Contains(text, "...")
}

// isJSON reports whether a text is one JSON value.
func isJSON(text string) bool { return jsontext.Value(text).IsValid() }

// checkRule checks the input, or the result, that an entry of the policy wants.
func (l *linter) checkRule(d *reading, r Rule) {
	if r.Payload != nil {
		l.addMisfits(d, r.Pos, SeverityError, misfits(d.s.Policy.ResultSchema, *r.Payload, "the payload does not fit the result_schema of this state"))
	}
	to, ok := l.w.states[d.goal(r.Target).State]
	if input, known := r.Attrs["input"]; ok && known && r.Tag != Join {
		l.addMisfits(d, r.Pos, SeverityError, misfits(to.Policy.InputSchema, input, "the input does not fit the input_schema of "+to.Name))
	}
}

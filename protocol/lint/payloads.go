package lint

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/protocol"
)

// checkPayloads checks the inputs and results in a state's text and policy against the schemas of
// the states that get them.
func (l *linter) checkPayloads(d checkedState) {
	p := &d.State.Policy
	for _, t := range d.Tags {
		switch isMeant := len(t.Problems) == 0 && d.namesKnownStates(t) && !isExample(t) && d.Permits(t.Tag); {
		case isMeant && t.Verb == protocol.Result && isJSON(t.Body): // other text may only show the form of a result
			l.addMisfits(d, t.Pos, Warning, protocol.CheckPayload(p.ResultSchema, t.Body, "the result does not fit the result_schema of this state"))
		case isMeant:
			l.checkShownInput(d, t)
		}
	}
	for _, r := range p.Transitions.Allowed {
		if r.Payload != nil {
			l.addMisfits(d, r.Pos, Error, protocol.CheckPayload(p.ResultSchema, *r.Payload, "the payload does not fit the result_schema of this state"))
		}
		to, ok := l.w.State(d.Target(r.States["target"]).State)
		if input, known := r.Attrs["input"]; ok && known && r.Tag != protocol.Join {
			l.addMisfits(d, r.Pos, Error, protocol.CheckPayload(to.Policy.InputSchema, input, "the input does not fit the input_schema of "+to.Name))
		}
	}
	for _, e := range l.chart.Exits(d.State.Name) {
		switch {
		case e.Verb == protocol.Fork:
			l.checkNoPayload(d, e.Pos, "next of <fork>", e.Next.State)
		case e.OnExhausted:
			l.checkNoPayload(d, e.Pos, "on_exhausted", e.Target.State)
		case e.TimedOut:
			l.checkNoPayload(d, e.Pos, "timeout_next", e.Target.State)
		}
	}
}

// checkNoPayload checks that a state which gets no payload has no input_schema.
func (l *linter) checkNoPayload(d checkedState, at protocol.Pos, what, to string) {
	if s, ok := l.w.State(to); ok && s.Policy.InputSchema != nil {
		l.addPayload(d, at, Error, fmt.Sprintf("%s gives %s no payload, but its input_schema requires one", what, to))
	}
}

// addPayload adds a finding about a payload. In a state that can't be reached from the workflow's
// first state, the finding is only a warning.
func (l *linter) addPayload(d checkedState, at protocol.Pos, severity Severity, message string) {
	if l.isUnreached(d) {
		severity = Warning
	}
	l.add(severity, protocol.Problem{File: d.State.Name, Pos: at, Code: "payload", Message: message})
}

// addMisfits adds a finding for each problem of a payload.
func (l *linter) addMisfits(d checkedState, at protocol.Pos, severity Severity, list []protocol.Problem) {
	for _, p := range list {
		l.addPayload(d, at, severity, p.Message)
	}
}

// checkShownInput checks the input of a tag in the text of a state against the schema of its
// target.
func (l *linter) checkShownInput(d checkedState, t protocol.ParsedTag) {
	to, ok := l.w.State(d.Target(t.Body).State)
	if !ok || !t.Verb.HasTarget() || to.Policy.InputSchema == nil || t.Verb == protocol.Join {
		return
	}
	input, known := t.Attrs["input"]
	switch {
	case !known && !d.isComposed(t):
		l.addPayload(d, t.Pos, Warning, fmt.Sprintf("<%s> has no input, but the input_schema of %s requires one", t.Verb, to.Name))
	case known && !d.isOpenPayload(t, input):
		severity := Error
		if d.State.Kind == protocol.Prompt && !isJSON(input) && (len(strings.Fields(input)) > 1 || protocol.IsOpen(input)) {
			severity = Warning // the text may only describe the input that the agent should write
		}
		l.addMisfits(d, t.Pos, severity, protocol.CheckPayload(to.Policy.InputSchema, input, fmt.Sprintf("the input of <%s> does not fit the input_schema of %s", t.Verb, to.Name)))
	}
}

// isOpenPayload reports whether a payload contains something that is filled in later, or escapes of
// the script's language.
func (d checkedState) isOpenPayload(t protocol.ParsedTag, text string) bool {
	if d.State.Kind == protocol.Script {
		return strings.ContainsAny(d.Source(t), "$`%!\\^")
	}
	return strings.Contains(text, "{{") || strings.Contains(text, "…") || strings.Contains(text, "...")
}

// isJSON reports whether a text is one JSON value.
func isJSON(text string) bool { return jsontext.Value(text).IsValid() }

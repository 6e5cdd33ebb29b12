package protocol

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol/schema"
)

// CheckInput returns why a state can't start with a payload, or "" if it can. A state without
// input_schema can start with any payload.
func (w *Workflow) CheckInput(state, payload string) string {
	s, ok := w.states[state]
	if !ok || s.Policy.InputSchema == nil {
		return ""
	}
	var list []string
	for _, v := range s.Policy.InputSchema.Check(payload) {
		list = append(list, v.String())
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("the payload of the state %s does not fit its input_schema: %s", state, strings.Join(list, "; "))
}

// checkPayloads checks a result against the result_schema of the state from, and every payload that
// d delivers against the input_schema of the state that gets it. The parameter returns is the state
// that gets a result. Before a result is checked against a schema, checkPayloads removes a code
// fence around it in d. If there is a result_schema, it also removes white space around the result.
// Users' answers and the results that a join delivers can't be checked, because they are not known
// yet.
func (w *Workflow) checkPayloads(from string, d *Decision, returns string) []Problem {
	var problems []Problem
	deliver := func(what, to, payload string) {
		s, ok := w.states[to]
		if !ok {
			return
		}
		for _, p := range CheckPayload(s.Policy.InputSchema, payload, what+" does not fit the input_schema of "+to) {
			if !slices.Contains(problems, p) { // several forks may cause the same problem
				problems = append(problems, p)
			}
		}
	}
	for _, s := range d.Spawns {
		deliver("the input of <fork>", s.State, s.Input)
	}
	switch m := &d.Then; m.Verb {
	case Goto, Reset, Call, Function:
		what := fmt.Sprintf("the input of <%s>", m.Verb)
		if len(d.Spawns) > 0 {
			what = "the empty payload of next"
		}
		deliver(what, m.To, m.Input)
	case Result:
		resultSchema := w.states[from].Policy.ResultSchema
		s, ok := w.states[returns]
		if inside := fenced().FindStringSubmatch(m.Text); inside != nil && (resultSchema != nil || ok && s.Policy.InputSchema != nil) {
			m.Text = inside[1]
		}
		if resultSchema != nil {
			m.Text = strings.TrimSpace(m.Text)
			problems = CheckPayload(resultSchema, m.Text, "the result does not fit the result_schema of "+from)
		}
		if ok && len(problems) == 0 {
			problems = CheckPayload(s.Policy.InputSchema, m.Text, fmt.Sprintf("the result does not fit the input_schema of %s, which gets it", returns))
		}
	}
	return problems
}

// fenced matches a text that consists of one Markdown code block with a fence of backquotes.
var fenced = pattern("(?s)^\\s*```[^\n`]*\n(.*)\n\\s*```\\s*$")

// CheckPayload returns a problem for each rule of a schema that a payload breaks. A nil schema
// allows every payload. The message of each problem begins with the text in what.
func CheckPayload(s *schema.Schema, payload, what string) []Problem {
	if s == nil {
		return nil
	}
	var problems []Problem
	for _, v := range s.Check(payload) {
		p := Problem{Code: "payload", Message: what + ": " + v.String()}
		if v.Rule == "" && v.Pointer == "" {
			p.Hint = "write exactly one JSON value, without text around it"
		}
		problems = append(problems, p)
	}
	return problems
}

// template matches a {{name}}. The name begins with a letter, a digit or _. It may continue with
// letters, digits, _, - and dots.
var template = pattern(`\{\{[ \t]*([_\pL\p{Nd}][_\pL\p{Nd}.-]*)[ \t]*\}\}`)

// Render replaces every {{name}} in body with the value that lookup returns for the name. Spaces
// and tabs around the name are allowed. If lookup doesn't know a name, its template stays
// unchanged. Templates in a value are not replaced.
func Render(body string, lookup func(name string) (string, bool)) string {
	return template().ReplaceAllStringFunc(body, func(whole string) string {
		if value, ok := lookup(strings.Trim(whole, "{ \t}")); ok {
			return value
		}
		return whole
	})
}

// Template is a {{name}} in a text.
type Template struct {
	Name      string
	Pos       Pos
	IsForeign bool // true for ${{name}}, which is an expression of GitHub Actions
}

// Templates returns the templates in body, in order.
func Templates(body string) []Template {
	var list []Template
	place := placer{text: body, pos: Pos{1, 1}}
	for _, m := range template().FindAllStringSubmatchIndex(body, -1) {
		list = append(list, Template{body[m[2]:m[3]], place.at(m[0]), strings.HasSuffix(body[:m[0]], "$")})
	}
	return list
}

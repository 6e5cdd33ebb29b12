package gemini

import (
	"bytes"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// stream reads the CLI's output record by record. It is an io.Writer for a single goroutine;
// program.Stream and program.MaxMessage bound its memory.
type stream struct {
	*program.Stream
	answer answer
	uses   map[string]toolUse // tool uses without a result, by id
	proxy  *keyproxy.Account  // also counts tokens; nil without a key proxy
}

// answer has the data that the CLI has reported.
type answer struct {
	session        string
	model          string
	message        program.Message // text since the last input to the model: a user's message or a tool result
	hasOutput      bool            // the model has sent something
	unfinishedLine strings.Builder // the beginning of a line of the model's text
	refused        []runner.Refusal

	result  *record // of type result
	warning string  // newest error record
}

// toolUse is a tool use of the model.
type toolUse struct {
	text, tool, input string
}

// maxUses is how many tool uses are tracked at once, and maxRefused how many refusals are recorded.
const (
	maxUses    = 1000
	maxRefused = 100
)

func newStream(o runner.Order, tell func(runner.Progress)) *stream {
	s := &stream{uses: map[string]toolUse{}}
	s.Stream = program.NewStream(o, tell, s.line, s.longLine)
	return s
}

func (s *stream) line(line []byte) bool {
	var r record
	if r.decode(line) != nil || r.Type == "" {
		return false
	}
	s.handle(&r)
	return true
}

// longLine handles a truncated line. Only the type of a tool result matters; a truncated message of
// the model fails the invocation.
func (s *stream) longLine(head []byte, fail *runner.Failure) bool {
	switch {
	case bytes.HasPrefix(head, []byte(`{"type":"message"`)) && bytes.Contains(head, []byte(`"role":"assistant"`)):
		s.Fail(fail)
	case bytes.HasPrefix(head, []byte(`{"type":"tool_result"`)):
		s.flushLine()
		s.answer.message.Reset()
		s.Display.ForgetTools() // the result belongs to one of them, but its id is unknown
	}
	return true
}

// handle processes one record.
func (s *stream) handle(r *record) {
	switch r.Type {
	case "init":
		s.answer.model, s.answer.session = r.Model, r.SessionID
		if want := s.Order.Prompt.SessionID; r.SessionID != want && want != "" {
			s.Fail(program.Fatal("session %s was replaced by %.80q", want, r.SessionID))
		}
		s.Display.ReportActivity()
	case "message":
		if r.Role == "assistant" {
			s.addText(r.Content)
			break
		}
		s.flushLine() // text before another input is not the final answer
		s.answer.message.Reset()
	case "tool_use":
		s.flushLine()
		s.answer.hasOutput = true
		s.beginTool(r)
	case "tool_result":
		s.answer.message.Reset()
		s.endTool(r)
	case "error":
		s.answer.warning = r.Message
		s.Display.ReportLine(program.OneLine(s.Display.Hide(r.Message), 500), "")
	case "result":
		s.StartGrace()
		s.answer.result = r
	}
}

// addText handles a piece of the model's text.
func (s *stream) addText(piece string) {
	s.answer.hasOutput = s.answer.hasOutput || piece != ""
	if !s.answer.message.Add(piece) {
		s.Fail(program.TooLongFailure())
		return
	}
	// Only complete lines are shown.
	if s.Order.Verbosity == runner.VerbosityNone {
		return
	}
	s.answer.unfinishedLine.WriteString(piece)
	if all := s.answer.unfinishedLine.String(); strings.Contains(all, "\n") || len(all) > 64<<10 {
		end := strings.LastIndexByte(all, '\n') + 1
		if end == 0 {
			end = len(all)
		}
		s.answer.unfinishedLine.Reset()
		s.answer.unfinishedLine.WriteString(all[end:])
		s.Display.ReportText(all[:end])
	}
}

// flushLine shows the incomplete line.
func (s *stream) flushLine() {
	if rest := s.answer.unfinishedLine.String(); rest != "" {
		s.answer.unfinishedLine.Reset()
		s.Display.ReportText(rest)
	}
}

// beginTool handles the start of a tool use.
func (s *stream) beginTool(r *record) {
	input := program.MainInput(r.Parameters, mainInputs)
	if r.Use != "" && len(s.uses) < maxUses {
		s.uses[r.Use] = toolUse{s.Display.ToolUse(r.Tool, input), r.Tool, input}
	}
	s.Display.BeginTool(r.Use, r.Tool, input)
}

// endTool handles the result of a tool use.
func (s *stream) endTool(r *record) {
	use := s.uses[r.Use]
	delete(s.uses, r.Use)
	s.Display.EndTools(r.Use)
	if r.Status != "error" {
		return
	}
	s.ReportDenied(r.Output + "\n" + r.Error.Message)
	isHidden := r.Error.Type == "tool_not_registered" && slices.Contains(builtIn, use.tool)
	isRefused := isHidden || r.Error.Type == "policy_violation" || isOutside(r.Error.Message)
	if isRefused && len(s.answer.refused) < maxRefused {
		s.answer.refused = append(s.answer.refused, s.refusal(use, r.Error.Message))
	}
}

// builtIn are the CLI's own tools, which it hides from the model if they are denied.
var builtIn = []string{shell, "write_file", "replace", "web_fetch", "google_web_search", "activate_skill", "read_file", "read_many_files", "glob", "grep_search", "list_directory", "invoke_agent", "write_todos"}

// isOutside reports whether an error is about a path outside the writable folders.
func isOutside(why string) bool {
	return strings.HasPrefix(why, "Access denied: plan path") || strings.HasPrefix(why, "Path not in workspace")
}

// refusal describes a refused tool use: the reason and, if a rule could allow it, that rule.
func (s *stream) refusal(u toolUse, why string) runner.Refusal {
	isOther := func(words string) bool { return strings.Contains(why, words) }
	if s.isDenied(u) || slices.ContainsFunc(unfixableReasons, isOther) {
		return s.Refusal(u.text, why)
	}
	return s.Refusal(u.text, why, program.PlainRule(toolNames[u.tool], u.input))
}

// unfixableReasons are parts of refusals that no rule would prevent.
var unfixableReasons = []string{"build configuration", " path", "Plan Mode"}

// isDenied reports whether the order denies the tool use.
func (s *stream) isDenied(u toolUse) bool {
	return slices.ContainsFunc(s.Order.Prompt.Permissions.DisallowedTools, func(denied string) bool {
		r, _ := parseRule(denied)
		return slices.Contains(r.tools, u.tool)
	})
}

// toolNames maps the CLI's tools to their names in workflows.
var toolNames = map[string]string{
	shell: "Bash", "write_file": "Write", "replace": "Edit", "web_fetch": "WebFetch", "google_web_search": "WebSearch", "activate_skill": "Skill",
}

// final returns the answer after the process has ended.
func (s *stream) final(exit proc.Exit) (runner.Answer, *runner.Failure) {
	s.flushLine()
	a := s.Answer(exit, "agent CLI")
	a.SessionID, a.Turns = s.answer.session, 1
	a.Cost, a.Model = s.cost()
	a.Refusals, a.Text = s.answer.refused, s.answer.message.String()
	fail := s.failure(exit, a.Text)
	if fail == nil {
		a.Notes = append(a.Notes, program.LateExitNotes(exit, s.Order)...)
	}
	return a, fail
}

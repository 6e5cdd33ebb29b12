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

// stream reads the CLI's output as it comes, record by record. It is an io.Writer for one
// goroutine; its memory is bounded by program.Stream and program.MaxMessage.
type stream struct {
	*program.Stream
	answer answer
	uses   map[string]use    // of tools, under way
	proxy  *keyproxy.Account // that counts, too; nil without one
}

// answer is what the CLI said.
type answer struct {
	session string
	model   string
	message program.Message // since the last input: the result of a tool or a message to the model
	spoke   bool            // the model has said something
	shown   strings.Builder // a line of the model's that has not ended
	refused []runner.Refusal

	result  *record // the result
	warning string  // the newest error that the CLI told of by the way
}

// use is a use of a tool.
type use struct {
	text, tool, input string
}

// maxUses is how many uses of tools are known at once, and maxRefused how many refusals.
const (
	maxUses    = 1000
	maxRefused = 100
)

func newStream(o runner.Order, tell func(runner.Progress)) *stream {
	s := &stream{uses: map[string]use{}}
	s.Stream = program.NewStream(o, tell, s.line, s.long)
	return s
}

func (s *stream) line(line []byte) bool {
	var r record
	if r.decode(line) != nil || r.Type == "" {
		return false
	}
	s.take(&r)
	return true
}

// long takes a line that does not fit. A result of a tool is known by its type alone; a message can't be used.
func (s *stream) long(head []byte, fail *runner.Failure) bool {
	switch {
	case bytes.HasPrefix(head, []byte(`{"type":"message"`)) && bytes.Contains(head, []byte(`"role":"assistant"`)):
		s.Fail(fail)
	case bytes.HasPrefix(head, []byte(`{"type":"tool_result"`)):
		s.showRest()
		s.answer.message.Reset()
		s.Display.ForgetTools() // this is the result of one of them, and nobody knows which
	}
	return true
}

func (s *stream) take(r *record) {
	switch r.Type {
	case "init":
		s.answer.model, s.answer.session = r.Model, r.SessionID
		if want := s.Order.Prompt.SessionID; r.SessionID != want && want != "" {
			s.Fail(program.Fatal("session %s was replaced by %.80q", want, r.SessionID))
		}
		s.Display.ReportActivity()
	case "message":
		if r.Role == "assistant" {
			s.say(r.Content)
			break
		}
		s.showRest() // text before an input to the model is not final
		s.answer.message.Reset()
	case "tool_use":
		s.showRest()
		s.answer.spoke = true
		s.use(r)
	case "tool_result":
		s.answer.message.Reset()
		s.brought(r)
	case "error":
		s.answer.warning = r.Message
		s.Display.ReportLine(program.OneLine(s.Display.Hide(r.Message), 500), "")
	case "result":
		s.StartGrace()
		s.answer.result = r
	}
}

// say takes a piece of what the model says.
func (s *stream) say(piece string) {
	s.answer.spoke = s.answer.spoke || piece != ""
	if !s.answer.message.Add(piece) {
		s.Fail(program.TooLongFailure())
		return
	}
	// Lines are told whole.
	if s.Order.Verbosity == runner.VerbosityNone {
		return
	}
	s.answer.shown.WriteString(piece)
	if all := s.answer.shown.String(); strings.Contains(all, "\n") || len(all) > 64<<10 {
		end := strings.LastIndexByte(all, '\n') + 1
		if end == 0 {
			end = len(all)
		}
		s.answer.shown.Reset()
		s.answer.shown.WriteString(all[end:])
		s.Display.ReportText(all[:end])
	}
}

// showRest tells a line that has not ended.
func (s *stream) showRest() {
	if rest := s.answer.shown.String(); rest != "" {
		s.answer.shown.Reset()
		s.Display.ReportText(rest)
	}
}

// use takes the begin of a use of a tool.
func (s *stream) use(r *record) {
	input := program.MainInput(r.Parameters, telling)
	if r.Use != "" && len(s.uses) < maxUses {
		s.uses[r.Use] = use{s.Display.ToolUse(r.Tool, input), r.Tool, input}
	}
	s.Display.BeginTool(r.Use, r.Tool, input)
}

// brought takes what a use of a tool brought.
func (s *stream) brought(r *record) {
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

// builtIn are the tools that the CLI has, and hides from the model where they are denied.
var builtIn = []string{shell, "write_file", "replace", "web_fetch", "google_web_search", "activate_skill", "read_file", "read_many_files", "glob", "grep_search", "list_directory", "invoke_agent", "write_todos"}

// isOutside reports whether an error says that a path is outside of what may be written.
func isOutside(why string) bool {
	return strings.HasPrefix(why, "Access denied: plan path") || strings.HasPrefix(why, "Path not in workspace")
}

// refusal says of a refused use of a tool why it was, and by which rule it is allowed.
func (s *stream) refusal(u use, why string) runner.Refusal {
	isOther := func(words string) bool { return strings.Contains(why, words) }
	if s.isDenied(u) || slices.ContainsFunc(otherReasons, isOther) {
		return s.Refusal(u.text, why)
	}
	return s.Refusal(u.text, why, program.PlainRule(names[u.tool], u.input))
}

// otherReasons are words of refusals that no rule would cure.
var otherReasons = []string{"build configuration", " path", "Plan Mode"}

// isDenied reports whether the order denies the use.
func (s *stream) isDenied(u use) bool {
	return slices.ContainsFunc(s.Order.Prompt.Permissions.DisallowedTools, func(denied string) bool {
		r, _ := parseRule(denied)
		return slices.Contains(r.tools, u.tool)
	})
}

// names are the tools by which workflows allow those of the CLI.
var names = map[string]string{
	shell: "Bash", "write_file": "Write", "replace": "Edit", "web_fetch": "WebFetch", "google_web_search": "WebSearch", "activate_skill": "Skill",
}

// final returns the answer for a process that has ended.
func (s *stream) final(exit proc.Exit) (runner.Answer, *runner.Failure) {
	s.showRest()
	a := s.Answer(exit, "agent CLI")
	a.SessionID, a.Turns = s.answer.session, 1
	a.Cost, a.Model = s.cost()
	a.Refusals, a.Text = s.answer.refused, s.answer.message.String()
	fail := s.verdict(exit, a.Text)
	if fail == nil {
		a.Notes = append(a.Notes, program.LateExitNotes(exit, s.Order)...)
	}
	return a, fail
}

package gemini

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// stream reads the CLI's output, one record at a time. It is an io.Writer that a single goroutine
// may use. program.Stream and program.MaxMessage limit how much memory it needs.
type stream struct {
	*program.Stream
	answer answer
	uses   map[string]toolUse // tool calls without a result, by id
	// proxy is the run's account at the key proxy, which also counts tokens. It is nil if there is
	// no key proxy.
	proxy *keyproxy.Account
}

// answer contains the data that the CLI has reported so far.
type answer struct {
	session string
	model   string
	// message is the model's text since the last message or tool result that was sent to the model.
	message        program.Message
	hasOutput      bool            // whether the model has sent something
	unfinishedLine strings.Builder // the model's text since the last line break
	refused        []runner.Refusal

	result  *record // record of the type "result"; nil before the CLI has sent it
	warning string  // text of the newest error record
}

// toolUse is a tool call by the model.
type toolUse struct {
	text, tool, input string
}

// maxUses is the maximum number of unfinished tool calls that are tracked. maxRefused is the
// maximum number of denied tool calls that are recorded.
const (
	maxUses    = 1000
	maxRefused = 100
)

func newStream(o runner.Order, tell func(runner.Progress)) *stream {
	s := &stream{uses: map[string]toolUse{}}
	s.Stream = program.NewStream(o, tell, s.line, s.longLine)
	return s
}

// line handles a complete line. It returns false if the line is not a record.
func (s *stream) line(line []byte) bool {
	var r record
	if json.Unmarshal(line, &r, lenient) != nil || r.Type == "" {
		return false
	}
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
		s.flushLine() // text before a tool result or another message is not the final answer
		s.answer.message.Reset()
	case "tool_use":
		s.flushLine()
		s.answer.hasOutput = true
		input := program.MainInput(r.Parameters, mainInputs)
		if r.Use != "" && len(s.uses) < maxUses {
			s.uses[r.Use] = toolUse{s.Display.ToolUse(r.Tool, input), r.Tool, input}
		}
		s.Display.BeginTool(r.Use, r.Tool, input)
	case "tool_result":
		s.answer.message.Reset()
		s.endTool(&r)
	case "error":
		s.answer.warning = r.Message
		s.Display.ReportLine(program.OneLine(s.Display.Hide(r.Message), 500), "")
	case "result":
		s.StartGrace()
		s.answer.result = &r
	}
	return true
}

// longLine handles a truncated line. A truncated message of the model makes the invocation fail.
// For a truncated tool result, only the fact that the tool has ended is used.
func (s *stream) longLine(head []byte, fail *runner.Failure) bool {
	switch {
	case bytes.HasPrefix(head, []byte(`{"type":"message"`)) && bytes.Contains(head, []byte(`"role":"assistant"`)):
		s.Fail(fail)
	case bytes.HasPrefix(head, []byte(`{"type":"tool_result"`)):
		s.flushLine()
		s.answer.message.Reset()
		// The line is the result of a current tool call, but the id of the call is unknown.
		s.Display.ForgetTools()
	}
	return true
}

// addText handles the next piece of the model's text. It shows the lines that are complete, and also
// an incomplete line of more than 64 KiB.
func (s *stream) addText(piece string) {
	s.answer.hasOutput = s.answer.hasOutput || piece != ""
	if !s.answer.message.Add(piece) {
		s.Fail(program.TooLongFailure())
		return
	}
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

// flushLine shows the incomplete last line of the model's text.
func (s *stream) flushLine() {
	if rest := s.answer.unfinishedLine.String(); rest != "" {
		s.answer.unfinishedLine.Reset()
		s.Display.ReportText(rest)
	}
}

// endTool handles the result of a tool call. If the tool call was denied, it records the reason and, if a
// rule could allow the call, that rule.
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
	if !isRefused || len(s.answer.refused) >= maxRefused {
		return
	}
	isForbidden := slices.ContainsFunc(s.Order.Prompt.Permissions.DisallowedTools, func(denied string) bool {
		r, _ := parseRule(denied)
		return slices.Contains(r.tools, use.tool)
	})
	isUnfixable := slices.ContainsFunc(unfixableReasons, func(words string) bool { return strings.Contains(r.Error.Message, words) })
	var rules []string // the rule that would allow the call
	if !isForbidden && !isUnfixable {
		rules = []string{program.PlainRule(toolNames[use.tool], use.input)}
	}
	s.answer.refused = append(s.answer.refused, s.Refusal(use.text, r.Error.Message, rules...))
}

// builtIn are the names of the CLI's own tools. The CLI hides a denied tool from the model.
var builtIn = []string{shell, "write_file", "replace", "web_fetch", "google_web_search", "activate_skill", "read_file", "read_many_files", "glob", "grep_search", "list_directory", "invoke_agent", "write_todos"}

// isOutside reports whether an error is about a path outside the folders that the agent may use.
func isOutside(why string) bool {
	return strings.HasPrefix(why, "Access denied: plan path") || strings.HasPrefix(why, "Path not in workspace")
}

// unfixableReasons are texts in the reasons for denials that no rule could prevent.
var unfixableReasons = []string{"build configuration", " path", "Plan Mode"}

// toolNames maps the names of the CLI's tools to their names in workflows.
var toolNames = map[string]string{
	shell: "Bash", "write_file": "Write", "replace": "Edit", "web_fetch": "WebFetch", "google_web_search": "WebSearch", "activate_skill": "Skill",
}

// final returns the answer of the invocation. It is called after the process has ended.
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

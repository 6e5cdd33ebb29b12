package codex

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// stream reads the CLI's output, one record at a time. It is an io.Writer that a single goroutine
// may use. program.Stream and program.MaxMessage limit how much memory it needs.
type stream struct {
	*program.Stream
	turn      turn
	thread    string          // id of the thread, as reported by the CLI
	text      program.Message // newest message of the model since the last tool call
	turns     int             // number of messages and tool calls
	wasAsked  bool            // whether a request was sent to the model
	hasOutput bool            // whether the model has sent something
	total     *state.Usage    // total of the thread; nil if the turn has not completed
	error     string          // why the turn failed, in the words of the CLI
	// refused contains the patches of a read-only agent that the cage has blocked.
	refused  []refusedUse
	hasNoted bool // whether the note about the CLI's sandbox was added
}

func newStream(o runner.Order, t turn, tell func(runner.Progress)) *stream {
	s := &stream{turn: t}
	s.Stream = program.NewStream(o, tell, s.line, s.longLine)
	return s
}

// messageStart matches the beginning of a line with a message of the model, even if the line was
// truncated.
var messageStart = text.Regexp(`^\{"type":"item\.[a-z]+","item":\{"id":"[^"]*","type":"agent_message"`)

// line handles a complete line. It returns false if the line is not a record.
func (s *stream) line(line []byte) bool {
	var r record
	if json.Unmarshal(line, &r, lenient) != nil || r.Type == "" {
		return false
	}
	s.StopGrace()
	switch r.Type {
	case "thread.started":
		s.threadStarted(r.Thread)
	case "item.started", "item.updated", "item.completed":
		s.item(r.Type, r.Item)
	case "turn.started":
		s.wasAsked = true
	case "turn.completed":
		s.total, s.error = new(cliLayout.Usage(r.Usage, "")), ""
		s.StartGrace()
	case "turn.failed":
		s.total, s.error = nil, r.Error.Message
		s.StartGrace()
	case "error":
		s.Display.ReportLine(program.OneLine(s.Display.Hide(r.Message), 300), "waiting to ask the API again")
		if status := statusIn(r.Message); status == 401 || status == 403 { // a retry would fail with the same key
			s.Fail(program.Fatal("authentication: the API refused the credentials with status %d", status))
		}
	}
	return true
}

// longLine handles a truncated line. A truncated tool output is ignored. A truncated message of the
// model makes the invocation fail. It returns false if the line is not an item.
func (s *stream) longLine(head []byte, fail *runner.Failure) bool {
	if messageStart().Match(head) {
		s.Fail(fail)
	}
	isItem := bytes.HasPrefix(head, []byte(`{"type":"item.`))
	s.hasOutput = s.hasOutput || isItem
	return isItem
}

// threadStarted handles the id of the thread. The invocation fails if the id is invalid, or if it
// is not the id of the thread to resume.
func (s *stream) threadStarted(id string) {
	switch {
	case !state.ValidSession(id):
		s.Fail(program.BadSessionID("the CLI named its thread", id))
		return
	case s.turn.resumed != "" && id != s.turn.resumed:
		s.Fail(program.Fatal("thread %s was replaced by %s", s.turn.resumed, id))
		return
	}
	s.thread = id
	if id != s.Order.Prompt.SessionID {
		s.Display.Report(runner.Progress{CLIID: id})
	}
	s.Display.ReportActivity()
}

// item handles an item that was started, updated or completed.
func (s *stream) item(kind string, i item) {
	switch tool, input, isUse := i.toolUse(); {
	case i.Type == "error":
		s.Display.ReportLine(program.OneLine(s.Display.Hide(i.Words), 300), "")
	case i.Type == "agent_message" && kind == "item.completed":
		s.hasOutput = true
		s.turns++
		s.text.Reset() // the last message of a turn is the answer
		if s.text.Add(i.Text) {
			s.Display.ReportText(i.Text)
		} else {
			s.Fail(program.TooLongFailure())
		}
	case isUse && kind == "item.started":
		s.hasOutput = true
		s.text.Reset()
		s.Display.BeginTool(i.ID, tool, input)
	case isUse && kind == "item.completed":
		s.hasOutput = true
		s.turns++
		s.text.Reset()
		s.Display.EndTools(i.ID)
		s.toolEnded(i)
	case i.Type != "agent_message" && i.Type != "reasoning" && kind != "item.completed":
		// A plan, or a tool of an unknown kind, begins or changes, so the text before it is not the
		// answer. A completed item doesn't count, because the CLI completes a plan only at the end of
		// the turn, after the answer.
		s.text.Reset()
	}
}

// toolEnded handles a tool call that has ended. If the tool failed, it checks whether a sandbox was
// the reason.
func (s *stream) toolEnded(i item) {
	if i.Status != "failed" && i.Status != "declined" {
		return
	}
	if strings.HasPrefix(i.Output, "bwrap: ") && !s.hasNoted {
		s.hasNoted = true
		s.Note("Codex can't create its sandbox on this machine (sandbox: %s), so commands fail; run with the cage, or use the permission mode bypassPermissions",
			program.OneLine(s.Display.Hide(i.Output), 160))
	}
	if s.Order.Cage == nil {
		return
	}
	if i.Type == "file_change" && s.turn.may.files == readOnly && len(s.refused) < maxRefused {
		s.refused = append(s.refused, refusedUse{Tool: "apply_patch", Input: i.paths(), Reason: "the agent may not write files; the cage blocked it (read-only sandbox)"})
	}
	s.ReportDenied(i.Output)
}

// maxRefused is the maximum number of denied tool calls that are recorded from the stream. A separate
// list, from the rollout (the CLI's transcript of the thread), has the same limit.
const maxRefused = 100

// answer returns the result of the invocation. It is called after the process has ended.
func (s *stream) answer(exit proc.Exit) (runner.Answer, *runner.Failure) {
	fail := s.failure(exit)
	if fail == nil {
		s.Notes = append(s.Notes, program.LateExitNotes(exit, s.Order)...)
	}
	a := s.Answer(exit, "agent CLI")
	a.Text, a.SessionID, a.Turns = s.text.String(), s.Order.Prompt.SessionID, s.turns
	if s.thread == "" {
		a.SessionID = ""
	} else if s.thread != a.SessionID {
		a.CLIID = s.thread
	}
	return a, fail
}

// failure returns why the invocation failed, or nil if the turn completed.
func (s *stream) failure(exit proc.Exit) *runner.Failure {
	switch {
	case s.EarlyFailure != nil:
		return s.EarlyFailure
	case s.total != nil:
		return nil
	case program.EndFailure(exit, s.Order) != nil:
		return program.EndFailure(exit, s.Order)
	case s.error != "":
		return classify(s.error, s.Display.Hide)
	case s.Records == 0 && (exit.Code == 1 || exit.Code == 2):
		for line := range strings.Lines(string(exit.StderrTail)) {
			switch line = strings.TrimSpace(line); {
			case strings.Contains(line, "no rollout found"), strings.Contains(line, "missing source rollout"):
				return program.Fatal("session gone: %s", program.OneLine(s.Display.Hide(line), 300))
			case strings.HasPrefix(strings.ToLower(line), "error"):
				// The CLI rejects its configuration or arguments. A retry would fail in the same way.
				return program.Fatal("the agent CLI refuses to start: %s", program.OneLine(s.Display.Hide(line), 300))
			}
		}
		return program.Transient("the agent CLI exited before it started the turn, with %s", program.DescribeExit(exit, s.Order))
	}
	return program.Transient("no completed turn: the agent CLI ended with %s", program.DescribeExit(exit, s.Order))
}

// The CLI reports errors only as text. The texts below come from the pinned version; tests with
// that version check them.

// statusForm matches an HTTP status in an error text of the CLI.
var statusForm = text.Regexp(`(?:unexpected status|last status:) (\d{3})\b`)

// statusIn returns the HTTP status in an error text of the CLI, or 0 if the text contains no
// status.
func statusIn(words string) int {
	m := statusForm().FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	status, _ := strconv.Atoi(m[1])
	return status
}

// classify returns the failure for a turn that the CLI ended with an error text. hide masks secrets
// in the failure's message.
func classify(words string, hide func(string) string) *runner.Failure {
	text, status := program.OneLine(hide(words), 500), statusIn(words)
	switch {
	case strings.HasPrefix(words, "You’ve hit your usage limit"), strings.HasPrefix(words, "You've hit your usage limit"):
		return &runner.Failure{Class: runner.UsageLimit, Reset: resetOf(words, time.Now()), Message: "usage limit: " + text}
	case strings.HasPrefix(words, "{"): // for status 400, the CLI prints the body of the response
		status = http.StatusBadRequest
	}
	return program.ReportedFailure(words, status, text)
}

// resetForm matches the time in an error text at which a usage limit ends.
var resetForm = text.Regexp(`try again at (?:([A-Z][a-z]{2} \d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}:\d{2} [AP]M)`)

// resetOf returns the time at which a usage limit ends, or the zero time if the text doesn't
// contain it. The CLI prints local time, and omits the date if the limit ends on the same day.
func resetOf(words string, now time.Time) time.Time {
	m := resetForm().FindStringSubmatch(words)
	if m == nil {
		return time.Time{}
	}
	day := now.Format("Jan 2 2006")
	if m[1] != "" {
		day = m[1] + " " + m[2]
	}
	at, err := time.ParseInLocation("Jan 2 2006 3:04 PM", day+" "+m[3], now.Location())
	if err != nil {
		return time.Time{}
	}
	// The text contains no seconds, so round up.
	if at = at.Add(time.Minute); m[1] == "" && at.Before(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at.UTC()
}

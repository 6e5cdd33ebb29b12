package codex

import (
	"bytes"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// stream reads the CLI's output as it comes, record by record. It is an io.Writer for one
// goroutine; its memory is bounded by program.Stream and program.MaxMessage.
type stream struct {
	*program.Stream
	turn   turn
	thread string          // as the CLI reports it
	text   program.Message // the model's newest message since the last use of a tool
	turns  int             // messages and uses of tools
	began  bool            // the model was asked
	spoke  bool            // something came from it
	sum    *state.Usage    // the turn was completed: what the thread has used
	error  string          // the turn failed: why, in the CLI's words
	// refused are the patches that a cage of ours has refused to an agent that may only read.
	refused []refusedUse
	noted   bool // that the CLI's sandbox can't be made
}

func newStream(o runner.Order, t turn, tell func(runner.Progress)) *stream {
	s := &stream{turn: t}
	s.Stream = program.NewStream(o, tell, s.line, s.long)
	return s
}

// message finds out whether a line is one with a message of the model, of which perhaps only
// the beginning is there.
var message = text.Regexp(`^\{"type":"item\.[a-z]+","item":\{"id":"[^"]*","type":"agent_message"`)

func (s *stream) line(line []byte) bool {
	var r record
	if r.decode(line) != nil || r.Type == "" {
		return false
	}
	s.take(&r)
	return true
}

// long takes a line that does not fit. The outputs of tools are passed over; a message can't be used, which is the failure.
func (s *stream) long(head []byte, fail *runner.Failure) bool {
	if message().Match(head) {
		s.Fail(fail)
	}
	isItem := bytes.HasPrefix(head, []byte(`{"type":"item.`))
	s.spoke = s.spoke || isItem
	return isItem
}

func (s *stream) take(r *record) {
	s.StopGrace()
	switch r.Type {
	case "thread.started":
		s.started(r.Thread)
	case "item.started", "item.updated", "item.completed":
		s.item(r.Type, r.Item)
	case "turn.started":
		s.began = true
	case "turn.completed":
		s.sum, s.error = new(ofCLI.Usage(r.Usage, "")), ""
		s.StartGrace()
	case "turn.failed":
		s.sum, s.error = nil, r.Error.Message
		s.StartGrace()
	case "error":
		s.Display.ReportLine(program.OneLine(s.Display.Hide(r.Message), 300), "waiting to ask the API again")
		if status := statusOf(r.Message); status == 401 || status == 403 { // a key does not become valid
			s.Fail(program.Fatal("authentication: the API refused the credentials with status %d", status))
		}
	}
}

// started takes the id of the thread.
func (s *stream) started(id string) {
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

func (s *stream) item(kind string, i item) {
	switch tool, input, isUse := i.use(); {
	case i.Type == "error":
		s.Display.ReportLine(program.OneLine(s.Display.Hide(i.Words), 300), "")
	case i.Type == "agent_message" && kind == "item.completed":
		s.said(i.Text)
	case isUse && kind == "item.started":
		s.spoke = true
		s.text.Reset()
		s.Display.BeginTool(i.ID, tool, input)
	case isUse && kind == "item.completed":
		s.spoke = true
		s.turns++
		s.text.Reset()
		s.Display.EndTools(i.ID)
		s.ended(i)
	case i.Type != "agent_message" && i.Type != "reasoning" && kind != "item.completed":
		// A plan, or another kind of tool. The CLI completes a plan only at the end of the turn.
		s.text.Reset()
	}
}

// said takes a message of the model. The last one is the answer.
func (s *stream) said(text string) {
	s.spoke = true
	s.turns++
	s.text.Reset()
	if !s.text.Add(text) {
		s.Fail(program.TooLongFailure())
		return
	}
	s.Display.ReportText(text)
}

// ended looks at what a tool has brought.
func (s *stream) ended(i item) {
	if i.Status != "failed" && i.Status != "declined" {
		return
	}
	if strings.HasPrefix(i.Output, "bwrap: ") && !s.noted {
		s.noted = true
		s.Note("Codex's sandbox can't be made on this machine (sandbox: %s), so that commands fail: let the run be caged, or use the permission mode bypassPermissions",
			program.OneLine(s.Display.Hide(i.Output), 160))
	}
	if s.Order.Cage == nil {
		return
	}
	if i.Type == "file_change" && s.turn.may.files == readOnly && len(s.refused) < maxRefused {
		s.refused = append(s.refused, refusedUse{Tool: "apply_patch", Input: i.paths(), Reason: "the cage keeps an agent that may only read from writing files (read-only sandbox)"})
	}
	s.ReportDenied(i.Output)
}

// maxRefused is how many uses of tools are kept that were refused, of the stream and of the rollout each.
const maxRefused = 100

// answer says what the invocation brought, once the process has ended.
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

// failure returns nil when there is a good answer.
func (s *stream) failure(exit proc.Exit) *runner.Failure {
	switch {
	case s.EarlyFailure != nil:
		return s.EarlyFailure
	case s.sum != nil:
		return nil
	case program.EndFailure(exit, s.Order) != nil:
		return program.EndFailure(exit, s.Order)
	case s.error != "":
		return classify(s.error, s.Display.Hide)
	case s.Records == 0 && (exit.Code == 1 || exit.Code == 2):
		return refused(exit, s.Order)
	}
	return program.Transient("no completed turn: the agent CLI ended with %s", program.DescribeExit(exit, s.Order))
}

package claude

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// stream reads the CLI's output and handles each record. It is an io.Writer for one goroutine. Its
// memory is bounded by program.Stream and program.MaxMessage.
type stream struct {
	*program.Stream
	session     string          // the session that the CLI reported
	model       string          // the first model that the CLI reports
	text        program.Message // text of the main thread since the model's last input
	isCut       bool            // the newest message of the main thread reached the output limit
	hookBlocks  int             // how often a Stop hook prevented the end of the turn
	hookMessage string          // the newest message from a Stop hook
	costs       costs           // includes the newest result record
	reasons     reasons         // why tool calls failed
	api         apiError        // the API errors that the CLI has reported
	final       *string         // the final message of the newest complete result
}

// newStream returns a stream for the output of an order's process.
func newStream(o runner.Order, report func(runner.Progress)) *stream {
	s := &stream{reasons: reasons{}}
	s.Stream = program.NewStream(o, report, s.line, s.long)
	return s
}

// line processes one line. It returns false if the line is not a record.
func (s *stream) line(line []byte) bool {
	var r record
	if json.Unmarshal(line, &r, lenient) != nil || r.Type == "" {
		return false
	}
	switch r.Type {
	case "stream_event":
		s.piece(line)
	case "system":
		s.system(&r)
	case "assistant":
		s.StopGrace()
		s.assistant(&r)
	case "user":
		s.StopGrace()
		s.user(&r)
	case "rate_limit_event":
		s.api.limited, s.api.reset = r.RateLimit.Status == "rejected", program.ParseEpoch(r.RateLimit.ResetsAt)
	case "result":
		s.StartGrace()
		s.result(&r)
	}
	return true
}

// piece processes an event of the API's stream. It reports the tokens of a message as soon as the
// message begins, because they must be paid for even if the process is killed.
func (s *stream) piece(line []byte) {
	switch e := s.costs.meter.addEvent(line); {
	case e.Event.Type == "message_start":
		s.reportUsage()
	case e.Event.Type == "message_delta" && e.Parent == "":
		reason := string(e.Event.Delta.Stop)
		s.isCut = reason == `"max_tokens"` || reason == `"model_context_window_exceeded"`
	}
}

// reportUsage reports the tokens that have been counted so far. It does nothing if the key proxy counts
// and reports them.
func (s *stream) reportUsage() {
	if len(s.costs.proxy.Used()) == 0 {
		s.Display.ReportUsage(keyproxy.UsageOf(s.costs.counted()))
	}
}

// long processes the beginning of a line that is too long to be decoded. If the line is the result of a
// tool, its content isn't needed. If the line is a message of the model or a result record, the answer is
// lost, so the invocation fails.
func (s *stream) long(head []byte, fail *runner.Failure) bool {
	kind := typeOf(head)
	switch kind {
	case "user":
		s.StopGrace()
		s.Display.ForgetTools() // a tool has ended, but it is unknown which one
		s.text.Reset()
	case "assistant":
		s.costs.meter.hasOutput = true
		s.Fail(fail)
	case "result":
		s.Fail(fail)
	}
	return kind != ""
}

// system processes a record of type "system".
func (s *stream) system(r *record) {
	switch r.Subtype {
	case "init":
		s.StopGrace()
		s.model = r.Model
		s.costs.version, _ = program.ParseVersion([]byte(r.Version))
		s.Display.ReportActivity()
		s.checkSession(r.SessionID)
	case "permission_denied":
		s.reasons.add(r.ToolUse, textOf(r.Message))
	case "api_retry":
		s.Display.ReportLine(fmt.Sprintf("API error %d (%s), attempt %d", r.ErrorStatus, r.Error, r.Attempt), "waiting to ask the API again")
		// The CLI would retry for three more minutes, but an invalid key stays invalid.
		if r.ErrorStatus == 401 || r.ErrorStatus == 403 {
			s.Fail(program.Fatal("authentication: the API refused the credentials with status %d", r.ErrorStatus))
		}
	}
}

// checkSession compares the CLI's session with the requested one. If the CLI continues the wrong
// conversation, the invocation fails. If a new conversation only has another id than requested, a note is
// added.
func (s *stream) checkSession(id string) {
	asked := s.Order.Prompt
	if id == "" || id == s.session {
		return
	}
	if !state.ValidSession(id) {
		s.Fail(program.BadSessionID("the CLI named its session", id))
		return
	}
	switch s.session = id; {
	case id == asked.SessionID:
	case asked.Session == state.Resume:
		s.Fail(program.Fatal("session %s was replaced by %q", asked.SessionID, id))
	case id == asked.From:
		s.Fail(program.Fatal("session %s was continued, not branched", id))
	default:
		s.Note("the CLI chose session %q instead of %s", id, asked.SessionID)
	}
}

// assistant processes a message of the model.
func (s *stream) assistant(r *record) {
	m := r.decodeMessage()
	if m.Model == synthetic {
		s.api.kind = r.Error
		return
	}
	if s.costs.meter.addBlock(r.Parent, m.answer) {
		s.reportUsage()
	}
	for _, b := range blocksOf(m.Content) {
		switch b.Type {
		case "tool_use":
			s.Display.BeginTool(b.ID, b.Name, program.MainInput(b.Input, informativeFields))
		case "text":
			s.Display.ReportText(b.Text)
			if r.Parent == "" && !s.text.Add(b.Text) {
				s.Fail(program.TooLongFailure())
			}
		}
	}
}

// informativeFields are the fields of tool inputs that are shown, in order of preference.
var informativeFields = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "description"}

// user processes an input to the model: results of tools, or a message from a hook or from the CLI. The
// text before an input was not the final message, so it is dropped. There are two exceptions: the input asks
// for the rest of a message that reached the output limit, or the input is for a subagent.
func (s *stream) user(r *record) {
	content := r.decodeMessage().Content
	var ended []string
	for _, b := range blocksOf(content) {
		if b.Type != "tool_result" {
			continue
		}
		ended = append(ended, b.Use)
		if b.Failed {
			why := transcripts.TextOf(b.Content)
			s.reasons.add(b.Use, why)
			s.ReportDenied(why)
		}
	}
	s.Display.EndTools(ended...)
	switch words := transcripts.TextOf(content); {
	case r.Parent != "":
		return
	case strings.HasPrefix(words, "Stop hook feedback:"):
		s.hookBlocks, s.hookMessage = s.hookBlocks+1, program.OneLine(s.Display.Hide(words), 300)
		s.Display.ReportLine(s.hookMessage, "")
	case s.isCut && len(ended) == 0, strings.HasPrefix(words, "Output token limit hit"):
		return
	}
	s.text.Reset()
}

// result processes a result record.
func (s *stream) result(r *record) {
	last := &r.result
	last.Subtype, last.hasText = r.Subtype, s.text.Len() > 0
	if s.costs.last == nil {
		s.costs.shares = shares{}
	}
	s.costs.last = last
	s.costs.lacksShare = !s.costs.shares.add(last.Share) || s.costs.lacksShare
	if last.isComplete() {
		s.checkSession(r.SessionID)
		text := s.text.String()
		s.final = &text
		s.text.Reset() // a further turn, for example after background work, has another input and answer
	}
}

// answer returns the result of the invocation. It is called after the process has ended.
func (s *stream) answer(exit proc.Exit) (runner.Answer, *runner.Failure) {
	fail := s.failure(exit)
	if s.hookBlocks > 0 {
		s.Note("a Stop hook kept the agent from ending its turn %s, last with %q", state.Count(s.hookBlocks, "time"), s.hookMessage)
	}
	if fail == nil && s.hookBlocks > 1 && *s.final == "" {
		fail = program.Fatal("the agent ended its turn without an answer, after a Stop hook had kept it from ending %d times; "+
			"fix what the hook complains about, or the hook: %s", s.hookBlocks, s.hookMessage)
	}
	if fail == nil {
		s.Notes = append(s.Notes, program.LateExitNotes(exit, s.Order)...)
	}
	a := s.Answer(exit, "agent CLI")
	a.Text, a.SessionID, a.Model, a.Cost = s.text.String(), s.session, s.model, s.costs.total()
	if last := s.costs.last; last != nil {
		a.Turns = last.NumTurns
		for _, use := range last.Denials[:min(len(last.Denials), maxDenied)] {
			why := s.reasons[use.Use]
			a.Refusals = append(a.Refusals, s.Refusal(s.Display.ToolUse(use.Tool, program.MainInput(use.Input, informativeFields)), why, rulesFor(use, why)...))
		}
	}
	if fail == nil {
		a.Text = *s.final
	}
	return a, fail
}

package claude

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// stream reads the CLI's output as it comes, record by record, and hands each to
// the parts that need it. It is an io.Writer for one goroutine; its memory is
// bounded by program.Stream and program.MaxMessage.
type stream struct {
	*program.Stream
	session string          // as the CLI reports it
	model   string          // that it names first
	text    program.Message // text of the main thread since the last input to the model
	isCut   bool            // the newest answer of the main thread reached the output limit
	blocks  int             // messages by which Stop hooks kept the turn from ending
	blocked string          // the newest of these messages
	costs   costs           // what it costs, with the newest result record
	reasons reasons         // why uses of tools failed
	api     apiError        // what the CLI said of errors
	final   *string         // the message of the newest good result
}

func newStream(o runner.Order, tell func(runner.Progress)) *stream {
	s := &stream{reasons: reasons{}}
	s.Stream = program.NewStream(o, tell, s.line, s.long)
	return s
}

func (s *stream) line(line []byte) bool {
	var r record
	if r.decode(line) != nil || r.Type == "" {
		return false
	}
	if r.Type == "stream_event" {
		s.piece(line)
	}
	s.take(&r)
	return true
}

// piece takes a piece of an answer. It reports the tokens of a message as soon as the message
// begins: they are paid for, whatever follows.
func (s *stream) piece(line []byte) {
	switch e := s.costs.meter.piece(line); {
	case e.Event.Type == "message_start":
		s.tellUsage()
	case e.Event.Type == "message_delta" && e.Parent == "":
		reason := string(e.Event.Delta.Stop)
		s.isCut = reason == `"max_tokens"` || reason == `"model_context_window_exceeded"`
	}
}

// tellUsage tells what was counted so far, unless the proxy counts, which is told
// when it does.
func (s *stream) tellUsage() {
	if len(s.costs.proxy.Used()) == 0 {
		s.Display.ReportUsage(keyproxy.UsageOf(s.costs.counted()))
	}
}

// long takes a line that does not fit. A tool result is known by its type alone; an answer can't be used, which is the failure.
func (s *stream) long(head []byte, fail *runner.Failure) bool {
	kind := typeOf(head)
	switch kind {
	case "user":
		s.StopGrace()
		s.Display.ForgetTools() // this is a result of one of them, and nobody knows which
		s.text.Reset()
	case "assistant":
		s.costs.meter.spoke = true
		s.Fail(fail)
	case "result":
		s.Fail(fail)
	}
	return kind != ""
}

func (s *stream) take(r *record) {
	switch r.Type {
	case "system":
		s.system(r)
	case "assistant":
		s.StopGrace()
		s.assistant(r)
	case "user":
		s.StopGrace()
		s.user(r)
	case "rate_limit_event":
		s.api.limit(r.RateLimit)
	case "result":
		s.result(r)
	}
}

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
		// The CLI would try for three more minutes; a key does not become valid.
		if r.ErrorStatus == 401 || r.ErrorStatus == 403 {
			s.Fail(program.Fatal("authentication: the API refused the credentials with status %d", r.ErrorStatus))
		}
	}
}

// checkSession compares the session that the CLI works in with the one that was asked for. Another one for a fresh session is
// worth a note.
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
		s.Note("the CLI chose session %q itself, not %s", id, asked.SessionID)
	}
}

func (s *stream) assistant(r *record) {
	m := r.message()
	if m.Model == synthetic {
		s.api.kind = r.Error
		return
	}
	if s.costs.meter.spoken(r.Parent, m.answer) {
		s.tellUsage()
	}
	for _, b := range blocksOf(m.Content) {
		switch b.Type {
		case "tool_use":
			s.Display.BeginTool(b.ID, b.Name, program.MainInput(b.Input, telling))
		case "text":
			s.Display.ReportText(b.Text)
			if r.Parent == "" && !s.text.Add(b.Text) {
				s.Fail(program.TooLongFailure())
			}
		}
	}
}

// telling are the inputs that say most about a use of a tool, best first.
var telling = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "description"}

// user takes an input to the model: results of tools, or a message of a hook or of the CLI. The text
// before it was not final, unless the CLI asks for the rest of an answer that reached the output limit.
func (s *stream) user(r *record) {
	content := r.message().Content
	var ended []string
	for _, b := range blocksOf(content) {
		if b.Type != "tool_result" {
			continue
		}
		ended = append(ended, b.Use)
		if b.Failed {
			why := transcripts.TextOf(b.Said)
			s.reasons.add(b.Use, why)
			s.ReportDenied(why)
		}
	}
	s.Display.EndTools(ended...)
	switch words := transcripts.TextOf(content); {
	case r.Parent != "":
		return
	case strings.HasPrefix(words, "Stop hook feedback:"):
		s.blocks, s.blocked = s.blocks+1, program.OneLine(s.Display.Hide(words), 300)
		s.Display.ReportLine(s.blocked, "")
	case s.isCut && len(ended) == 0, strings.HasPrefix(words, "Output token limit hit"):
		return
	}
	s.text.Reset()
}

func (s *stream) result(r *record) {
	s.StartGrace()
	last := &r.result
	last.Subtype, last.hasText = r.Subtype, s.text.Len() > 0
	s.costs.add(last)
	if last.isGood() {
		s.checkSession(r.SessionID)
		text := s.text.String()
		s.final = &text
		s.text.Reset() // another turn, as after work in the background, has an input and an answer of its own
	}
}

// answer says what the invocation brought, once the process has ended.
func (s *stream) answer(exit proc.Exit) (runner.Answer, *runner.Failure) {
	fail := s.failure(exit)
	if s.blocks > 0 {
		s.Note("a Stop hook kept the agent from ending its turn %s, last with %q", state.Count(s.blocks, "time"), s.blocked)
	}
	if fail == nil && s.blocks > 1 && *s.final == "" {
		fail = program.Fatal("the agent ended its turn without an answer, after a Stop hook had kept it from ending %d times; "+
			"fix what the hook complains about, or the hook: %s", s.blocks, s.blocked)
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
			a.Refusals = append(a.Refusals, s.Refusal(s.Display.ToolUse(use.Tool, program.MainInput(use.Input, telling)), why, rulesFor(use, why)...))
		}
	}
	if fail == nil {
		a.Text = *s.final
	}
	return a, fail
}

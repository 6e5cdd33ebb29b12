package claude

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// stream reads the CLI's output as it comes, record by record, and hands each to
// the parts that need it. It is an io.Writer for one goroutine; its memory is
// bounded by program.Stream and program.MaxMessage.
type stream struct {
	*program.Stream
	thread  thread  // the conversation and its newest message
	costs   costs   // what it costs
	reasons reasons // why uses of tools failed
	verdict verdict // whether it went well
}

func newStream(o runner.Order, tell func(runner.Progress)) *stream {
	s := &stream{costs: costs{proxy: (*keyproxy.Account)(nil)}}
	s.Stream = program.NewStream(o, tell, s.line, s.long)
	return s
}

func (s *stream) line(line []byte) bool {
	if bytes.HasPrefix(line, eventPrefix) {
		s.piece(line)
		return true
	}
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

// piece takes a piece of an answer. What a message begins with is told at once: it
// is paid for, whatever comes after it.
func (s *stream) piece(line []byte) {
	if s.costs.meter.piece(line) {
		s.tellUsage()
	}
}

// tellUsage tells what was counted so far, unless the proxy counts, which is told
// when it does.
func (s *stream) tellUsage() {
	if len(s.costs.proxy.Used()) == 0 {
		s.Display.Usage(tally.Usage(s.costs.counted()))
	}
}

// long takes a line that does not fit. A tool result is known by its type alone; an answer can't be used, which is the failure.
func (s *stream) long(head []byte, fail *runner.Failure) bool {
	kind := typeOf(head)
	switch kind {
	case "user":
		s.GoOn()
		s.Display.Forget() // this is a result of one of them, and nobody knows which
		s.thread.text.Reset()
	case "assistant":
		s.costs.meter.spoke = true
		s.Give(fail)
	case "result":
		s.Give(fail)
	}
	return kind != ""
}

func (s *stream) take(r *record) {
	switch r.Type {
	case "system":
		s.system(r)
	case "assistant":
		s.GoOn()
		s.assistant(r)
	case "user":
		s.GoOn()
		s.user(r)
	case "rate_limit_event":
		s.verdict.api.limit(r.RateLimit)
	case "result":
		s.result(r)
	}
}

func (s *stream) system(r *record) {
	switch r.Subtype {
	case "init":
		s.GoOn()
		s.thread.model = r.Model
		s.costs.version, _ = program.ParseVersion([]byte(r.Version))
		s.Display.Doing()
		s.checkSession(r.SessionID)
	case "permission_denied":
		s.reasons.add(r.ToolUse, r.Message.Text)
	case "api_retry":
		s.Display.Line(fmt.Sprintf("API error %d (%s), attempt %d", r.ErrorStatus, r.Error, r.Attempt), "waiting to ask the API again")
		// The CLI would try for three more minutes; a key does not become valid.
		if r.ErrorStatus == 401 || r.ErrorStatus == 403 {
			s.Give(program.Fatal("authentication: the API refused the credentials with status %d", r.ErrorStatus))
		}
	}
}

func (s *stream) checkSession(id string) {
	note, fail := s.thread.checkSession(id, s.Order.Prompt)
	if fail != nil {
		s.Give(fail)
	}
	if note != "" {
		s.Note("%s", note)
	}
}

func (s *stream) assistant(r *record) {
	if r.Message.Model == synthetic {
		s.verdict.api.kind = r.Error
		return
	}
	if s.costs.meter.spoken(r.Parent, &r.Message) {
		s.tellUsage()
	}
	for _, b := range r.Message.Content {
		show(&s.Display, b)
		if b.Type == "text" && r.Parent == "" && !s.thread.text.Add(b.Text) {
			s.Give(program.TooLong())
		}
	}
}

// user takes a message to the model. When a tool result is in it, the text before
// was not final.
func (s *stream) user(r *record) {
	isResult := func(b block) bool { return b.Type == "tool_result" }
	for _, b := range r.Message.Content {
		if isResult(b) && b.Failed {
			why := transcripts.TextOf(b.Said)
			s.reasons.add(b.Use, why)
			s.tellRefused(why)
		}
	}
	endUses(&s.Display, r.Message.Content)
	if r.Parent == "" && slices.ContainsFunc(r.Message.Content, isResult) {
		s.thread.text.Reset()
	}
}

// tellRefused tells which file a tool was refused, if the agent is in a cage.
func (s *stream) tellRefused(why string) {
	if s.Order.Prompt.Cage == nil {
		return
	}
	if path := cage.Denied(why); path != "" {
		s.Display.Tell(runner.Progress{Refused: path})
	}
}

func (s *stream) result(r *record) {
	s.Settle()
	last := &r.result
	last.Subtype, last.hasText = r.Subtype, s.thread.text.Len() > 0
	s.costs.add(last)
	s.verdict.last = last
	if last.isGood() {
		s.checkSession(r.SessionID)
		text := s.thread.text.String()
		s.verdict.final = &text
	}
}

// answer says what the invocation brought, once the process has ended.
func (s *stream) answer(exit proc.Exit) (runner.Answer, *runner.Failure) {
	fail := s.Early
	if fail == nil {
		fail = s.verdict.failure(exit, s.Order, s.Records)
	}
	if fail == nil {
		s.Notes = append(s.Notes, program.AfterAnswer(exit, s.Order)...)
	}
	a := s.Answer(exit, "agent CLI")
	a.Text, a.SessionID, a.Model, a.Cost = s.thread.text.String(), s.thread.session, s.thread.model, s.costs.total()
	if last := s.verdict.last; last != nil {
		a.Turns, a.Denied = last.NumTurns, denied(&s.Display, last.Denials)
		a.Refusals = s.refusals(last.Denials)
	}
	if fail == nil {
		a.Text = *s.verdict.final
	}
	return a, fail
}

// counter counts the tokens of a process elsewhere than in its output.
type counter interface {
	// Used returns what was counted so far; nothing when it could not be counted.
	Used() []tally.Sum
	// Metered returns what the API itself has counted so far, also when that is not all.
	Metered() []state.Usage
}

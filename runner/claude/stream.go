package claude

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/keyproxy"
	"github.com/raymond-action/raymond-action/runner/claude/tally"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

const (
	// maxMessage is the longest final message that is accepted.
	maxMessage = 10 << 20
	// headSize is how much of a line that is too long is looked at.
	headSize = 64 << 10
)

// counter is what counts the tokens of a process elsewhere than in its output.
type counter interface {
	// Used returns what was counted so far; nothing when it could not be counted.
	Used() []tally.Sum
}

// stream reads the CLI's output as it comes and keeps what the answer needs. It
// is an io.Writer for one goroutine; its memory is bounded by
// transcript.MaxLine and maxMessage.
type stream struct {
	order runner.Order
	tell  func(runner.Progress)
	abort context.CancelCauseFunc // ends the CLI
	turn  func(begun bool)        // says that a turn begins or has ended

	lines proc.Lines

	text    strings.Builder // of the main thread since its last tool result
	session string          // as reported
	model   string
	kind    string    // of the last synthetic error
	reset   time.Time // of a usage limit; zero when unknown
	limited bool      // a usage limit was reached
	records int       // lines that were JSON objects with a type
	unread  int       // lines that were not
	notes   []string
	uses    uses
	why     map[string]string // uses of tools that failed, and why, in the words of the CLI

	meter   meter
	proxied counter    // what the proxy has counted; nil without one
	prior   priorCount // how far the CLI's count had come when it began
	version version    // of the CLI, as it says itself
	results int        // result records
	shared  int        // of them, those that tell their share
	share   state.Cost // the sum of the shares

	last  *result         // the newest result record
	final *string         // the message of the newest good one
	fault *runner.Failure // found before the end
}

func newStream(o runner.Order, tell func(runner.Progress)) *stream {
	s := &stream{order: o, tell: tell, abort: func(error) {}, turn: func(bool) {}}
	s.lines = proc.Lines{Max: transcript.MaxLine, Line: s.line}
	return s
}

// Write implements io.Writer. It never fails.
func (s *stream) Write(p []byte) (int, error) { return s.lines.Write(p) }

// flush takes a last line that no line feed ended.
func (s *stream) flush() { s.lines.Flush() }

func (s *stream) line(line []byte, truncated bool) {
	if truncated {
		s.long(line)
		return
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if bytes.HasPrefix(line, eventPrefix) {
		s.records++
		s.piece(line)
		return
	}
	var r record
	if r.decode(line) != nil || r.Type == "" {
		s.unread++
		return
	}
	s.records++
	if r.Type == "stream_event" {
		s.piece(line)
		return
	}
	s.take(&r)
}

// piece takes a piece of an answer. What a message begins with is told at once: it
// is paid for, whatever comes after it.
func (s *stream) piece(line []byte) {
	if s.meter.piece(line) {
		s.tellMetered()
	}
}

// through has what the process uses counted by the proxy. What is returned ends
// the telling of it.
func (s *stream) through(g *keyproxy.Account) (end func()) {
	s.proxied = g
	s.order.Env = slices.Concat(s.order.Env, g.Env())
	over, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		for {
			select {
			case <-g.Began():
				seen := runner.Metered(tally.Usage(g.Used()))
				s.tell(runner.Progress{Metered: &seen})
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-told
	}
}

// tellMetered tells what was counted, unless who counts it does so.
func (s *stream) tellMetered() {
	if s.tell != nil && (s.proxied == nil || len(s.proxied.Used()) == 0) {
		seen := runner.Metered(tally.Usage(s.counted()))
		s.tell(runner.Progress{Metered: &seen})
	}
}

// long takes a line that does not fit. A tool result is known by its type alone;
// an answer of that size is over the limit of a message in any case.
func (s *stream) long(line []byte) {
	s.records++
	switch transcript.TypeOf(line[:min(len(line), headSize)]) {
	case "user":
		s.turn(true)
		s.uses = nil // a result of one of them, and nobody knows which
		s.report("", s.uses.doing())
		s.text.Reset()
	case "assistant":
		s.meter.spoke = true
		s.tooLong()
	case "result":
		s.tooLong()
	}
}

func (s *stream) take(r *record) {
	switch r.Type {
	case "system":
		s.system(r)
	case "assistant":
		s.turn(true)
		s.assistant(r)
	case "user":
		s.turn(true)
		s.user(r)
	case "rate_limit_event":
		s.rateLimit(r.RateLimit)
	case "result":
		s.result(r)
	}
}

func (s *stream) system(r *record) {
	switch r.Subtype {
	case "init":
		s.turn(true)
		s.model = r.Model
		s.version, _ = parseVersion([]byte(r.Version))
		s.report("", s.uses.doing())
		s.checkSession(r.SessionID)
	case "permission_denied":
		s.because(r.ToolUse, r.Message.Text)
	case "api_retry":
		s.report(fmt.Sprintf("API error %d (%s), attempt %d", r.ErrorStatus, r.Error, r.Attempt), "waiting to ask the API again")
		// The CLI would go on for three minutes; a key does not become valid.
		if r.ErrorStatus == 401 || r.ErrorStatus == 403 {
			s.give(fatal("authentication: the API refused the credentials with status %d", r.ErrorStatus))
		}
	}
}

// checkSession compares the conversation that the CLI works in with the one
// that was asked for.
func (s *stream) checkSession(id string) {
	if id == "" || id == s.session {
		return
	}
	if !state.ValidSession(id) {
		s.give(fatal("the CLI named its session %.80q, which can't be kept: want letters, digits, -, _ and ., not beginning with a "+
			"point, and 128 of them at most", id))
		return
	}
	s.session = id
	switch {
	case id == s.order.Prompt.SessionID:
	case s.order.Prompt.Session == state.Resume:
		s.give(fatal("session %s was replaced by %q", s.order.Prompt.SessionID, id))
	case id == s.order.Prompt.From:
		s.give(fatal("session %s was continued, not branched", id))
	default:
		s.note("the CLI chose session %q itself, not %s", id, s.order.Prompt.SessionID)
	}
}

func (s *stream) assistant(r *record) {
	if r.Message.Model == transcript.Synthetic {
		s.kind = r.Error
		return
	}
	if s.meter.spoken(r.Parent, &r.Message) {
		s.tellMetered()
	}
	for _, b := range r.Message.Content {
		s.show(b)
		if b.Type == "text" && r.Parent == "" {
			s.add(b.Text)
		}
	}
}

func (s *stream) add(text string) {
	if s.text.Len()+len(text) > maxMessage {
		s.tooLong()
		return
	}
	s.text.WriteString(text)
}

func (s *stream) tooLong() {
	s.give(fatal("the message is over %d MiB", maxMessage>>20))
}

// user takes a message to the model; with a tool result in it the text before
// was not final.
func (s *stream) user(r *record) {
	s.endUses(r.Message.Content)
	if r.Parent != "" {
		return
	}
	for _, b := range r.Message.Content {
		if b.Type == "tool_result" {
			s.text.Reset()
			return
		}
	}
}

// endUses takes in which uses of tools have ended.
func (s *stream) endUses(blocks content) {
	ended := false
	for _, b := range blocks {
		if b.Type == "tool_result" && b.Failed {
			s.because(text(b.Use), said(b.Said))
		}
		ended = b.Type == "tool_result" && s.uses.end(string(b.Use)) || ended
	}
	if ended {
		s.report("", s.uses.doing())
	}
}

func (s *stream) rateLimit(l rateLimit) {
	s.limited = l.Status == "rejected"
	s.reset = epoch(l.ResetsAt)
}

func (s *stream) result(r *record) {
	s.turn(false)
	s.last = &r.result
	s.results++
	s.addShare(r.Share)
	s.last.Subtype, s.last.hasText = r.Subtype, s.text.Len() > 0
	if s.last.isGood() {
		s.checkSession(r.SessionID)
		text := s.text.String()
		s.final = &text
	}
}

// give records why the invocation can't succeed and ends the CLI.
func (s *stream) give(f *runner.Failure) {
	if s.fault == nil {
		s.fault = f
		s.abort(f)
	}
}

func (s *stream) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

package command

import (
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// form is the format of the program's output.
type form int

const (
	undecided form = iota // the output so far contains only blank lines
	plain                 // the output is plain text and is the message
	lines                 // the output is JSON lines, because the first line is a record
)

// stream reads the program's output as it arrives. It is an io.Writer for one goroutine. Its memory is
// bounded by program.MaxMessage and transcripts.MaxLine.
type stream struct {
	*program.Stream
	form form

	message   program.Message // the message so far; for plain text, the whole output
	session   string          // the program's own session id; "" before the program reports one
	spoke     bool            // the program has printed output of a model
	costs     costs
	lastError *runner.Failure // the failure for the newest error that the program reported
}

// newStream returns a stream for the output of an order's program.
func newStream(o runner.Order, report func(runner.Progress)) *stream {
	s := &stream{costs: costs{orderModel: o.Prompt.Model}}
	s.Stream = program.NewStream(o, report, s.line, s.long)
	return s
}

// Write implements io.Writer. It never fails.
func (s *stream) Write(p []byte) (int, error) {
	if s.form != lines && !s.message.Add(string(p)) {
		s.Fail(program.TooLongFailure())
	}
	if s.form != plain {
		_, _ = s.Stream.Write(p) // never fails
	}
	return len(p), nil
}

// flush processes the last line if it doesn't end with a line feed. For plain text, it also reports the
// text.
func (s *stream) flush() {
	s.Flush()
	if s.form == undecided && s.message.Len() > 0 {
		s.form = plain
	}
	if s.form == plain {
		s.spoke = true
		s.Display.ReportText(s.message.String())
	}
}

// line processes a line that is not blank. The first such line determines the format of the output. line
// returns false if the output is JSON lines and this line is not a valid record.
func (s *stream) line(line []byte) bool {
	r, ok := parse(line)
	if s.form == undecided {
		if s.form = plain; ok {
			s.form = lines
			s.message.Reset()
		}
	}
	return s.form == plain || ok && s.take(r)
}

// long processes a line that is too long for a record. In plain text, the line belongs to the message.
// In JSON lines, it makes the invocation fail.
func (s *stream) long(_ []byte, fail *runner.Failure) bool {
	if s.form == lines {
		s.Fail(fail)
	} else {
		s.form = plain
	}
	return true
}

// take processes a record. It returns false if it is a cost record that can't be counted (see costs.add).
func (s *stream) take(r record) bool {
	s.Display.EndTools(theTool)
	switch r.Type {
	case typeText:
		s.spoke = true
		s.Display.ReportText(r.Text)
		if !s.message.Add(r.Text) {
			s.Fail(program.TooLongFailure())
		}
	case typeTool:
		// Text before a tool call is not part of the final message.
		s.spoke = true
		s.message.Reset()
		s.Display.BeginTool(theTool, r.Name, program.MainInput(r.Input, shownFields))
	case typeSession:
		s.begin(r.ID)
	case typeCost:
		if !s.costs.add(r) {
			return false
		}
		if len(s.costs.proxied.used()) == 0 {
			var tokens []state.Usage
			for _, m := range s.costs.models {
				tokens = append(tokens, m.Usage)
			}
			s.Display.ReportUsage(tokens)
		}
	case typeError:
		text := program.OneLine(s.Display.Hide(r.Message), 500)
		s.Display.ReportLine("error: "+text, "")
		until := program.ParseEpoch(r.Until)
		if at, err := time.Parse(time.RFC3339, strings.Trim(string(r.Until), `"`)); err == nil {
			until = at.UTC()
		}
		s.lastError = failure(r.Class, text, until)
	}
	return true
}

// theTool is the id of all running tools. Records contain no ids, so only one tool is shown at a time.
const theTool = "tool"

// begin stores the session id and reports it immediately, so that it is known after a crash.
func (s *stream) begin(id string) {
	switch {
	case id == s.session:
		return
	case !state.ValidSession(id):
		s.Fail(program.BadSessionID("the agent command named its session", id))
		return
	case s.Order.Prompt.Session == state.Branch && id == s.Order.Prompt.CLIID:
		s.Fail(program.Fatal("session %s was continued, not branched: the agent command must report the id of a new session", id))
		return
	}
	s.session = id
	s.Display.Report(runner.Progress{CLIID: id})
}

// answer returns the result of the invocation. It is called after the process has ended.
func (s *stream) answer(exit proc.Exit) (runner.Answer, *runner.Failure) {
	a := s.Answer(exit, "agent command")
	a.Text, a.CLIID, a.Model, a.Cost = s.message.String(), s.session, s.costs.model, s.costs.total(s.spoke)
	if s.session != "" {
		a.SessionID = s.Order.Prompt.SessionID
	}
	fail := s.EarlyFailure
	if fail == nil {
		fail = s.lastError
	}
	if fail == nil || exit.Ended == proc.ByStop && s.EarlyFailure == nil {
		fail = s.ended(exit)
	}
	return a, fail
}

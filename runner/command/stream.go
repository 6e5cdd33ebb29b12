package command

import (
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// form is what the program's output is.
type form int

const (
	undecided form = iota // nothing but blank lines have ended
	plain                 // a message
	lines                 // JSON lines, since the first one is a record
)

// stream reads the program's output as it comes. It is an io.Writer for one goroutine; its
// memory is bounded by program.MaxMessage and transcripts.MaxLine.
type stream struct {
	*program.Stream
	form form

	message program.Message // all of the output, while it may be a message
	session string          // as the program calls it; "" while it has told none
	spoke   bool            // there was anything of the model
	costs   costs
	told    *runner.Failure // the last error that the program told
}

func newStream(o runner.Order, tell func(runner.Progress)) *stream {
	s := &stream{costs: costs{asked: o.Prompt.Model}}
	s.Stream = program.NewStream(o, tell, s.line, s.long)
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

// flush takes a last line that no line feed ended.
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

// line takes a line that is not blank, of which the first says what the output is.
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

// long takes a line that does not fit. It may be the message, which can't be used then.
func (s *stream) long(_ []byte, fail *runner.Failure) bool {
	if s.form == lines {
		s.Fail(fail)
	} else {
		s.form = plain
	}
	return true
}

// take takes a record, and returns false for one that says nothing credible.
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
		// What was said before was not final.
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
		said := program.OneLine(s.Display.Hide(r.Message), 500)
		s.Display.ReportLine("error: "+said, "")
		s.told = failure(r.Class, said, r.until())
	}
	return true
}

// theTool is the id of the one tool that is known to be in use.
const theTool = "tool"

// begin takes the name of the conversation. It is told at once, so that it outlives a crash.
func (s *stream) begin(id string) {
	switch {
	case id == s.session:
		return
	case !state.ValidSession(id):
		s.Fail(program.BadSessionID("the agent command named its session", id))
		return
	case s.Order.Prompt.Session == state.Branch && id == s.Order.Prompt.CLIID:
		s.Fail(program.Fatal("session %s was continued, not branched: the agent command must tell the id of the new one", id))
		return
	}
	s.session = id
	s.Display.Report(runner.Progress{CLIID: id})
}

// isSilent reports whether nothing that means anything was printed.
func (s *stream) isSilent() bool { return s.form == undecided }

// answer says what the invocation brought, once the process has ended.
func (s *stream) answer(exit proc.Exit) (runner.Answer, *runner.Failure) {
	a := s.Answer(exit, "agent command")
	a.Text, a.CLIID, a.Model, a.Cost = s.message.String(), s.session, s.costs.model, s.costs.total(s.spoke)
	if s.session != "" {
		a.SessionID = s.Order.Prompt.SessionID
	}
	fail := s.EarlyFailure
	if fail == nil {
		fail = s.told
	}
	if fail == nil || exit.Ended == proc.ByStop && s.EarlyFailure == nil {
		fail = s.ended(exit)
	}
	return a, fail
}

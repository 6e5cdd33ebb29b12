package command

import (
	"bytes"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// form is what the program's output is.
type form int

const (
	undecided form = iota // its first line has not ended
	plain                 // a message
	lines                 // JSON lines
)

// stream reads the program's output as it comes. It is an io.Writer for one goroutine; its
// memory is bounded by program.MaxMessage and transcripts.MaxLine.
type stream struct {
	*program.Stream
	form form
	head []byte // of an undecided output

	message program.Message
	session string // as the program calls it; "" while it has told none
	spoke   bool   // there was anything of the model
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
	switch s.form {
	case plain:
		s.add(p)
	case lines:
		_, _ = s.Stream.Write(p) // never fails
	default:
		s.wait(p)
	}
	return len(p), nil
}

// maxBlank is how many blank bytes JSON lines may begin with.
const maxBlank = 64 << 10

// wait takes output before its first line has ended.
func (s *stream) wait(p []byte) {
	s.head = append(s.head, p...)
	isLong := len(s.head) > transcripts.MaxLine
	if !isLong && bytes.IndexByte(p, '\n') < 0 {
		return
	}
	first := firstLine(s.head)
	if first != nil || isLong || len(s.head) > maxBlank && len(bytes.TrimSpace(s.head)) == 0 {
		s.decide(first)
	}
}

// firstLine returns the first line that is not blank; nil when it has not ended.
func firstLine(head []byte) []byte {
	for len(head) > 0 {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		if !ended {
			return nil
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line
		}
		head = rest
	}
	return nil
}

// decide says by the first line what the output is, and takes what has come of it.
func (s *stream) decide(first []byte) {
	head := s.head
	s.head, s.form = nil, plain
	if _, isRecord := parse(first); isRecord {
		s.form = lines
	}
	_, _ = s.Write(head)
}

// flush takes a last line that no line feed ended.
func (s *stream) flush() {
	if s.form == undecided && len(s.head) > 0 {
		s.decide(s.head)
	}
	s.Flush()
	if s.form == plain {
		s.Display.Text(s.message.String())
	}
}

// add takes output that is a message.
func (s *stream) add(p []byte) {
	s.spoke = true
	if !s.message.Add(string(p)) {
		s.Give(program.TooLong())
	}
}

func (s *stream) line(line []byte) bool {
	r, ok := parse(line)
	return ok && s.take(r)
}

// long takes a line that does not fit. It may be the message, which can't be used then.
func (s *stream) long(_ []byte, fail *runner.Failure) bool {
	s.Give(fail)
	return true
}

// take takes a record, and returns false for one that says nothing credible.
func (s *stream) take(r record) bool {
	s.Display.End(theTool)
	switch r.Type {
	case typeText:
		s.spoke = true
		s.Display.Text(r.Text)
		if !s.message.Add(r.Text) {
			s.Give(program.TooLong())
		}
	case typeTool:
		// What was said before was not final.
		s.spoke = true
		s.message.Reset()
		s.Display.Begin(theTool, r.Name, r.shownInput())
	case typeSession:
		s.begin(r.ID)
	case typeCost:
		if !s.costs.add(r) {
			return false
		}
		s.tellUsage()
	case typeError:
		said := program.OneLine(s.Display.Hide(r.Message), 500)
		s.Display.Line("error: "+said, "")
		s.told = failure(r.Class, said, r.until())
	}
	return true
}

// tellUsage tells the tokens so far, unless the proxy counts, which is told when it does.
func (s *stream) tellUsage() {
	if len(s.costs.proxied.used()) == 0 {
		s.Display.Usage(s.costs.tokens())
	}
}

// theTool is the id of the one tool that is known to be in use.
const theTool = "tool"

// begin takes the name of the conversation. It is told at once, so that it outlives a crash.
func (s *stream) begin(id string) {
	switch {
	case id == s.session:
		return
	case !state.ValidSession(id):
		s.Give(program.CantKeep("the agent command named its session", id))
		return
	case s.Order.Prompt.Session == state.Branch && id == s.Order.Prompt.CLIID:
		s.Give(program.Fatal("session %s was continued, not branched: the agent command must tell the id of the new one", id))
		return
	}
	s.session = id
	s.Display.Tell(runner.Progress{CLIID: id})
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
	fail := s.Early
	if fail == nil {
		fail = s.told
	}
	if fail == nil || exit.Ended == proc.ByStop && s.Early == nil {
		fail = s.ended(exit)
	}
	return a, fail
}

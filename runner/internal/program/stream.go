package program

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// Stream is what the readers of the outputs of all agent CLIs share. It is an io.Writer for one
// goroutine, which keeps at most a line of transcripts.MaxLine in memory.
type Stream struct {
	Order     runner.Order
	Display   Display
	Abort     context.CancelCauseFunc // ends the CLI
	ConfigDir string                  // the CLI's own folder; "" where it is not known
	HowTo     string                  // how to install the CLI

	EarlyFailure *runner.Failure // why nothing can come of the invocation any more
	Records      int             // lines that were records
	UnknownLines int             // lines that were not
	Notes        []string        // what was odd

	lines proc.Lines

	grace    time.Duration // after Settle
	late     *time.Timer   // that closes finished; nil before Settle
	finished chan struct{}
}

// NewStream returns what reads the output of an invocation. Its lines that are not blank are handed to take, which reports
// false for one that is no record. Of one that does not fit, or would cost too much to decode, the beginning is handed to
// long, with the failure of a CLI of which it can't be done without.
func NewStream(o runner.Order, tell func(runner.Progress), take func(line []byte) bool, long func(head []byte, fail *runner.Failure) bool) *Stream {
	s := &Stream{Order: o, Display: NewDisplay(o, tell), Abort: func(error) {}, finished: make(chan struct{})}
	s.lines = proc.Lines{Max: transcripts.MaxLine, Line: func(line []byte, truncated bool) {
		if len(bytes.TrimSpace(line)) == 0 {
			return
		}
		var isRecord bool
		head := line[:min(len(line), headSize)]
		switch err := jsonstrict.CheckSize(line); {
		case truncated:
			isRecord = long(head, TooLongFailure())
		case err != nil:
			isRecord = long(head, Fatal("a record of the agent CLI is %v", err))
		default:
			isRecord = take(line)
		}
		if isRecord {
			s.Records++
		} else {
			s.UnknownLines++
		}
	}}
	return s
}

// headSize is how much of a line that is too long is looked at.
const headSize = 64 << 10

// Write implements io.Writer. It never fails.
func (s *Stream) Write(p []byte) (int, error) { return s.lines.Write(p) }

// Flush takes a last line that no line feed ended.
func (s *Stream) Flush() { s.lines.Flush() }

// Fail records why the invocation can't succeed, and ends the CLI.
func (s *Stream) Fail(f *runner.Failure) {
	if s.EarlyFailure == nil {
		s.EarlyFailure = f
		s.Abort(f)
	}
}

// StartGrace says that the CLI has told its result. It is ended if it is still there after a while in which it does not go on.
func (s *Stream) StartGrace() {
	if s.late == nil {
		s.late = time.AfterFunc(s.grace, sync.OnceFunc(func() { close(s.finished) }))
	}
	s.late.Reset(s.grace)
}

// StopGrace says that the CLI has more to tell: there are several turns when work in the background ends after the first.
func (s *Stream) StopGrace() {
	if s.late != nil {
		s.late.Stop()
	}
}

// Note notes what was odd.
func (s *Stream) Note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// Run starts an agent CLI for the order, and returns when it, and everything that it started, is gone. It is ended when nothing
// can come of it any more. in has what the order doesn't say. The failure says why it could not be started; howTo is how it is
// installed, or "".
func (s *Stream) Run(ctx context.Context, in proc.Options, howTo string) (proc.Exit, *runner.Failure) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	s.Abort = abort
	o := s.Order
	in.Dir, in.Mark = o.Dir, o.Mark
	in.Stdin = []byte(o.Prompt.Text)
	in.Timeout, in.Idle, in.Cage = o.Timeout, o.Idle, o.Cage
	in.DeathSignal = syscall.SIGINT // an orphaned CLI would continue to the end of its turn and spend money
	in.Finished = s.finished
	in.DebugDir, in.DebugStdout = o.DebugDir, ".jsonl"
	defer s.StopGrace()
	exit, err := proc.Run(ctx, in)
	if err != nil {
		return exit, StartFailure(err, howTo)
	}
	return exit, nil
}

// Answer is what can be said of any process that has ended. who is what people call it.
func (s *Stream) Answer(exit proc.Exit, who string) runner.Answer {
	if s.UnknownLines > 0 {
		s.Note("no records in %s of the %s's output", state.Count(s.UnknownLines, "line"), who)
	}
	return runner.Answer{Process: state.Process{ExitCode: exit.Code, Signal: exit.Signal}, Notes: append(s.Notes, exit.LeftoverNotes("agent")...)}
}

// BadSessionID is the failure of a CLI whose name for a conversation can't be kept. what it named says who has, too.
func BadSessionID(what, id string) *runner.Failure {
	return Fatal("%s %.80q, which can't be kept: want letters, digits, -, _ and ., not beginning with a point, and 128 of them at most", what, id)
}

// ReportDenied reports the file that a caged tool was refused, as its output says. A CLI that can't make a
// file or folder in its own folder can't use its tools, and its agent can't work.
func (s *Stream) ReportDenied(output string) {
	if s.Order.Cage == nil {
		return
	}
	path := cage.DeniedPath(output)
	switch {
	case path == "":
	case s.ConfigDir != "" && strings.HasPrefix(output, "EACCES: ") && cage.IsWithin(path, s.ConfigDir):
		s.Fail(Machine("the agent CLI can't use its tools in the cage: %s; %s", OneLine(output, 300), s.HowTo))
	default:
		s.Display.Report(runner.Progress{Refused: path})
	}
}

// Refusal says of a refused use of a tool why it was, and by which of the rules it is allowed: those that the order has not,
// and without a secret, since a rule would be of no use without it.
func (s *Stream) Refusal(use, why string, rules ...string) runner.Refusal {
	r := runner.Refusal{Use: use, Reason: OneLine(s.Display.Hide(why), 300)}
	for _, rule := range rules {
		isKnown := slices.Contains(r.Allow, rule) || slices.Contains(s.Order.Prompt.Permissions.AllowedTools, rule)
		if rule != "" && !isKnown && s.Display.Hide(rule) == rule {
			r.Allow = append(r.Allow, rule)
		}
	}
	return r
}

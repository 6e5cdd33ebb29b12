package program

import (
	"context"
	"fmt"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// Stream is what the readers of the outputs of all agent CLIs share. It is an io.Writer for one
// goroutine, which keeps at most a line of transcripts.MaxLine in memory.
type Stream struct {
	Order   runner.Order
	Display Display
	Abort   context.CancelCauseFunc // ends the CLI

	Early   *runner.Failure // why nothing can come of the invocation any more
	Records int             // lines that were records
	Unread  int             // lines that were not
	Notes   []string        // what was odd

	lines proc.Lines
}

// NewStream returns what reads the output of an invocation, and hands over its lines.
func NewStream(o runner.Order, tell func(runner.Progress), line func(line []byte, truncated bool)) Stream {
	return Stream{
		Order: o, Display: NewDisplay(o, tell), Abort: func(error) {},
		lines: proc.Lines{Max: transcripts.MaxLine, Line: line},
	}
}

// Write implements io.Writer. It never fails.
func (s *Stream) Write(p []byte) (int, error) { return s.lines.Write(p) }

// Flush takes a last line that no line feed ended.
func (s *Stream) Flush() { s.lines.Flush() }

// Give records why the invocation can't succeed, and ends the CLI.
func (s *Stream) Give(f *runner.Failure) {
	if s.Early == nil {
		s.Early = f
		s.Abort(f)
	}
}

// Note notes what was odd.
func (s *Stream) Note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// Run is the package's Run for the order. The CLI is ended when nothing can come of it any more.
func (s *Stream) Run(ctx context.Context, in Invocation) (proc.Exit, *runner.Failure) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	s.Abort = abort
	return Run(ctx, s.Order, in)
}

// Answer is what can be said of any process that has ended. who is what people call it.
func (s *Stream) Answer(exit proc.Exit, who string) runner.Answer {
	if s.Unread > 0 {
		s.Note("no records in %s of the %s's output", state.Count(s.Unread, "line"), who)
	}
	return runner.Answer{ExitCode: exit.Code, Signal: exit.Signal, Notes: append(s.Notes, Leftovers(exit)...)}
}

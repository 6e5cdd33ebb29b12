package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// Stream reads the output of an agent CLI. It is the part of the reader that all agent CLIs share. It is
// an io.Writer for one goroutine, and stores at most one line, of at most transcripts.MaxLine bytes.
type Stream struct {
	Order     runner.Order
	Display   Display
	Abort     context.CancelCauseFunc // ends the CLI; Run sets it
	ConfigDir string                  // the configuration directory of the CLI; "" if unknown
	HowTo     string                  // how to install the CLI

	EarlyFailure *runner.Failure // why the invocation can't succeed any more
	Records      int             // number of lines that were records
	UnknownLines int             // number of lines that were not records
	Notes        []string        // notes for users about unusual events

	lines proc.Lines

	grace time.Duration // how long the CLI may take to exit after its result
	late  *time.Timer   // closes finished when the grace period is over; nil before StartGrace
	// finished is closed when the grace period is over. Run then ends the CLI.
	finished chan struct{}
}

// NewStream returns a stream for the output of an invocation. The stream passes each line that is not blank
// to the function take. If a line is too long, or would need too much memory to decode, the stream passes its
// first headSize bytes to the function long instead. fail is the failure to use if the CLI's answer depends
// on that line. Both functions report whether the line is a record.
func NewStream(o runner.Order, report func(runner.Progress), take func(line []byte) bool, long func(head []byte, fail *runner.Failure) bool) *Stream {
	s := &Stream{Order: o, Display: NewDisplay(o, report), Abort: func(error) {}, finished: make(chan struct{})}
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

// headSize is how many bytes of a line that is too long are examined.
const headSize = 64 << 10

// Write implements io.Writer. It never fails.
func (s *Stream) Write(p []byte) (int, error) { return s.lines.Write(p) }

// Flush processes the last line if it doesn't end with a line feed.
func (s *Stream) Flush() { s.lines.Flush() }

// Fail records that the invocation can't succeed any more, and ends the CLI. Further calls do nothing.
func (s *Stream) Fail(f *runner.Failure) {
	if s.EarlyFailure == nil {
		s.EarlyFailure = f
		s.Abort(f)
	}
}

// StartGrace starts the grace period after a result of the CLI. If the period has begun already, it
// begins again. The CLI is ended when the period is over.
func (s *Stream) StartGrace() {
	if s.late == nil {
		s.late = time.AfterFunc(s.grace, sync.OnceFunc(func() { close(s.finished) }))
	}
	s.late.Reset(s.grace)
}

// StopGrace stops the grace period because the CLI continues. For example, when background work ends
// after the first turn, the CLI begins a further turn.
func (s *Stream) StopGrace() {
	if s.late != nil {
		s.late.Stop()
	}
}

// Note adds a note about an unusual event.
func (s *Stream) Note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// Run starts an agent CLI for the order, and returns when the CLI and all its descendants have ended. It
// ends the CLI early after a call of Fail, and when the grace period is over. The parameter in contains the
// options that don't come from the order. howTo is an instruction for installing the CLI. It may be empty.
// Run returns a failure only if the CLI could not be started.
func (s *Stream) Run(ctx context.Context, in proc.Options, howTo string) (proc.Exit, *runner.Failure) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	s.Abort = abort
	o := s.Order
	in.Dir, in.Mark = o.Dir, o.Mark
	in.Stdin = []byte(o.Prompt.Text)
	in.Timeout, in.Idle, in.Cage = o.Timeout, o.Idle, o.Cage
	// If this process dies, the CLI must not continue to the end of its turn, because that would cost money.
	in.DeathSignal = syscall.SIGINT
	in.Finished = s.finished
	in.DebugDir, in.DebugStdout = o.DebugDir, ".jsonl"
	defer s.StopGrace()
	exit, err := proc.Run(ctx, in)
	if err != nil {
		return exit, StartFailure(err, howTo)
	}
	return exit, nil
}

// Answer returns the parts of an answer that are the same for all CLIs: the exit status and the notes. The
// caller sets the other fields. The notes use the word in who for the program, for example "agent CLI".
func (s *Stream) Answer(exit proc.Exit, who string) runner.Answer {
	if s.UnknownLines > 0 {
		s.Note("skipped %s of the %s's output that could not be parsed", state.Count(s.UnknownLines, "line"), who)
	}
	return runner.Answer{Process: state.Process{ExitCode: exit.Code, Signal: exit.Signal}, Notes: append(s.Notes, exit.LeftoverNotes("agent")...)}
}

// BadSessionID returns the failure for a CLI that reported an invalid session id. The message begins with
// the text in what, for example "the CLI named its session".
func BadSessionID(what, id string) *runner.Failure {
	return Fatal("%s %.80q, which is not a valid id: use at most 128 letters, digits, hyphens, underscores and periods, and no period at the beginning", what, id)
}

// ReportDenied searches the output of a caged tool for the path of a file to which the cage denied
// access, and reports the path. If the CLI itself was denied access to a file in its own configuration
// directory, its tools don't work, so the invocation fails instead.
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

// Refusal describes a tool call that was denied. It contains the reason, and rules that would allow the
// call. Rules that the order already contains are omitted. Rules that contain a secret are omitted too:
// they would have to be masked, and would then be useless.
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

// SkipMistyped returns unmarshalers for the type T that skip JSON values of another kind. kind is the kind
// that fits T, for example "{" for a struct. A field with an unexpected type is then ignored, and the record
// around it can still be decoded. If T is an integer type, numbers that are not integers are ignored too.
func SkipMistyped[T any](kind string) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, to *T) error {
		if k := dec.PeekKind(); k != 0 && string(k) != kind {
			return dec.SkipValue()
		}
		switch n := any(to).(type) {
		case *int:
			return number(dec, n)
		case *int64:
			return number(dec, n)
		}
		return errors.ErrUnsupported
	})
}

// number decodes the next JSON number into *to. It ignores a number that is not an integer.
func number[T int | int64](dec *jsontext.Decoder, to *T) error {
	value, err := dec.ReadValue()
	if n, bad := strconv.ParseInt(string(value), 10, strconv.IntSize); bad == nil {
		*to = T(n)
	}
	return err
}

// MainInput returns the most informative part of a tool's input. If the input is a string, it returns
// that string. Otherwise, it returns the first of the named fields that contains a string that is not
// empty. If there is no such field, it returns the whole JSON. It returns "" for an empty input.
func MainInput(input jsontext.Value, names []string) (text string) {
	if json.Unmarshal(input, &text, jsonstrict.Loose) == nil { // null sets text to ""
		return text
	}
	var fields map[string]jsontext.Value
	_ = json.Unmarshal(input, &fields, jsonstrict.Loose) // if the input is not an object, fields stays empty
	for _, name := range names {
		if json.Unmarshal(fields[name], &text, jsonstrict.Loose) == nil && text != "" {
			return text
		}
	}
	if string(input) == "{}" {
		return ""
	}
	return string(input)
}

// ParseDollars parses an amount. If the amount is too large, it returns state.MaxUSD, which ends the
// run. It returns false if raw is negative or not a number.
func ParseDollars(raw jsontext.Value) (state.USD, bool) {
	if len(raw) == 0 || raw.Kind() != '0' || raw[0] == '-' {
		return 0, false
	}
	if usd, err := state.ParseUSD(string(raw)); err == nil {
		return usd, true
	}
	// The amount may be too small, for example 1e-40. A number above 1e308 is parsed as infinite, and so is
	// too large.
	if n, _ := strconv.ParseFloat(string(raw), 64); n < 1 {
		return 0, true
	}
	return state.MaxUSD, true
}

// ParseEpoch parses seconds since 1970. It returns the zero time if raw is not a plausible number of
// seconds.
func ParseEpoch(raw jsontext.Value) time.Time {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0 && n < 1e11) {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
}

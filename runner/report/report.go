// Package report contains the model of a run, which is built from the run's events and state, and
// everything that displays the model: the console, the job log with annotations, the step summary,
// and debug files. It also writes the event log. The file texts.go contains the words for facts that
// several outputs show.
//
// Reporters are called from one goroutine, in the order of the events, so they need no locks. Texts
// from agents are untrusted: control characters are removed from them before they are written to a
// terminal or a job log.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Reporter receives the events of a run. It is not called again after it has returned an error.
type Reporter interface {
	// Report handles the next event of the run.
	Report(state.Event) error
	// Close ends the reporting. No other method is called after it.
	Close() error
}

// Fanout passes events to several reporters, in the order in which the reporters were added. It
// stops calling a reporter that has returned an error, and continues with the others: a full disk,
// for example, must not end a run.
type Fanout struct {
	Model *Model // gets each event before the reporters
	// Hide masks secrets in events, notes and agents' activities before the reporters get them. If
	// it is nil, texts are not changed.
	Hide    func(string) string
	members []*member
	warn    func(name string, err error)
}

// member is a reporter of a Fanout. If off is set, it has failed and is not called again.
type member struct {
	name string
	to   Reporter
	off  bool
}

// NewFanout returns a Fanout without reporters. The Fanout calls warn, with the reporter's name and
// the error, once for each reporter that fails.
func NewFanout(warn func(name string, err error)) *Fanout {
	return &Fanout{Model: NewLiveModel(), warn: warn}
}

// Add adds a reporter. The name is only used for the warning, and need not be unique.
func (f *Fanout) Add(name string, to Reporter) {
	f.members = append(f.members, &member{name: name, to: to})
}

// Report adds an event to the model and passes it to all reporters.
func (f *Fanout) Report(e state.Event) {
	if f.Hide != nil {
		e = e.Map(f.Hide)
	}
	f.Model.Add(e)
	each(f, func(r Reporter) error { return r.Report(e) })
}

// Tick passes the time to all reporters that have a method Tick(time.Time) error. It should be
// called about ten times a second if there is a terminal, otherwise once a second.
func (f *Fanout) Tick(now time.Time) {
	each(f, func(r interface{ Tick(time.Time) error }) error { return r.Tick(now) })
}

// Note passes a message that is not part of an event to all reporters that have a method
// Note(agent, state, text string) error.
func (f *Fanout) Note(agent, state, text string) {
	if f.Hide != nil {
		text = f.Hide(text)
	}
	each(f, func(r interface {
		Note(agent, state, text string) error
	}) error {
		return r.Note(agent, state, text)
	})
}

// Doing passes an agent's current activity, or a tool call, to all reporters that have a method
// Doing(agent, state string, p runner.Progress) error.
func (f *Fanout) Doing(agent, at string, p runner.Progress) {
	if f.Hide != nil {
		p = state.MapTexts(p, f.Hide)
	}
	each(f, func(r interface {
		Doing(agent, state string, p runner.Progress) error
	}) error {
		return r.Doing(agent, at, p)
	})
}

// Next passes a text about how to continue a stopped run to all reporters that have a method
// Next(text string) error. Text between two backticks is code. The text is empty if there is
// nothing to do. Next is called after the last event, when it is known whether the run was stored.
func (f *Fanout) Next(text string) {
	each(f, func(r interface{ Next(string) error }) error { return r.Next(text) })
}

// Close closes all reporters that have not failed.
func (f *Fanout) Close() { each(f, Reporter.Close) }

// each calls the function do for the reporters of type T that have not failed. It calls f.warn for a
// reporter that fails.
func each[T any](f *Fanout, do func(T) error) {
	for _, m := range f.members {
		to, ok := m.to.(T)
		if m.off || !ok {
			continue
		}
		if err := do(to); err != nil {
			m.off = true
			f.warn(m.name, err)
		}
	}
}

// Events returns an iterator over the events in the log at path. A line that is not an event yields
// a *state.FileError, after which the iteration may continue. Any other error is the last value. An
// incomplete last line is ignored, since a process may still be writing it. If the file does not
// exist, the iterator yields no events.
func Events(path string) iter.Seq2[state.Event, error] {
	return func(yield func(state.Event, error) bool) {
		f, _, err := files.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(state.Event{}, err)
			return
		}
		defer f.Close()
		in, _ := eventLines(f)
		for n := 1; in.Scan(); n++ {
			if len(bytes.TrimSpace(in.Bytes())) == 0 {
				continue
			}
			var e state.Event
			err := jsonstrict.CheckSize(in.Bytes())
			if err == nil {
				err = json.Unmarshal(in.Bytes(), &e)
			}
			if err != nil {
				err = &state.FileError{Path: path, Field: fmt.Sprintf("line %d", n), What: err.Error()}
			}
			if !yield(e, err) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(state.Event{}, err)
		}
	}
}

// longestEvent is the maximum length of a log line in bytes. It is large because an event may
// contain the result of a run.
const longestEvent = 64 << 20

// eventLines returns a scanner for the complete lines of a log. After the last line was scanned,
// rest contains the text that follows the last line break. A line longer than longestEvent causes
// an error.
func eventLines(r io.Reader) (lines *bufio.Scanner, rest *[]byte) {
	lines, rest = bufio.NewScanner(r), new([]byte)
	lines.Buffer(nil, longestEvent)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF {
			*rest = data
			return len(data), nil, nil
		}
		return 0, nil, nil
	})
	return lines, rest
}

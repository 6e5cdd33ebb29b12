// Package report has the model of a run, which its events and its state make, and what
// people and programs read from it: the console, the job log with its annotations, the step
// summary, and debug files. It also keeps the event log.
//
// It knows the events and not where they come from: Events reads a recorded
// log. Reporters are called from one goroutine, in the order of the events, and so need no
// locks. Text from agents is shown, never executed: no control character of theirs reaches
// a terminal or a job log.
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

// Reporter is told every event of a run. After an error it is not called again.
type Reporter interface {
	// Report is told the next event.
	Report(state.Event) error
	// Close ends the reporting; nothing is called after it.
	Close() error
}

// Fanout passes every event to several reporters, in the order in which they were
// added. It never calls one again that failed: a full disk must not end a run.
type Fanout struct {
	Model *Model // has each event before a member is told it
	// Hide replaces secrets in the texts of all events, notes and the like, whoever is told them; nil leaves them as they are.
	Hide    func(string) string
	members []*member
	warn    func(name string, err error)
}

type member struct {
	name string
	to   Reporter
	off  bool
}

// NewFanout returns a Fanout without members. It calls warn once for each member
// that fails, with the name under which that was added.
func NewFanout(warn func(name string, err error)) *Fanout {
	return &Fanout{Model: NewLiveModel(), warn: warn}
}

// Add adds a member. Its name is for the warning and need not be unique.
func (f *Fanout) Add(name string, to Reporter) {
	f.members = append(f.members, &member{name: name, to: to})
}

// Report tells every member the event.
func (f *Fanout) Report(e state.Event) {
	if f.Hide != nil {
		e = e.Map(f.Hide)
	}
	f.Model.Add(e)
	each(f, func(r Reporter) error { return r.Report(e) })
}

// Tick tells the time to the members that have a method Tick(time.Time) error. It
// should be called about ten times a second for a terminal, else once a second.
func (f *Fanout) Tick(now time.Time) {
	each(f, func(r interface{ Tick(time.Time) error }) error { return r.Tick(now) })
}

// Note passes a line that is not an event to the members that have a method
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

// Doing passes what an agent is doing, or the use of a tool, to the members that have a method
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

// Next tells what can be done with a run that has stopped, to the members that have
// a method Next(text string) error. Pairs of backticks in the text make code; the
// text is "" if there is nothing to do. Next is called when it is known where the
// run is stored, and so after the last event.
func (f *Fanout) Next(text string) {
	each(f, func(r interface{ Next(string) error }) error { return r.Next(text) })
}

// Close closes the members that still work.
func (f *Fanout) Close() { each(f, Reporter.Close) }

// each calls do for the members that are a T and still work.
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

// Events yields the events of the log at path, and errors: a *state.FileError in the place of a line
// that is no event, after which whoever wants to can go on. It ignores a torn last line, which a run may be
// writing. A log that is missing has none.
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

// longestEvent bounds a line of a log, in bytes: the result of a run may be long.
const longestEvent = 64 << 20

// eventLines returns the lines of a log without their ends. When they have come, rest is
// what follows the last line end. A log of longer lines than longestEvent is an error.
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

// Package report turns the events of a run into what people and programs read:
// the event log, the lines and the live display on a terminal, debug files.
//
// It knows events and nothing of how they come about: every reporter can be fed
// from a recorded log by Replay. Reporters are called from one goroutine, in the
// order of the events, and so need no locks. Text from agents is shown, never
// obeyed: no control character of theirs reaches a terminal or a job log.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

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

// ticker is a Reporter with something to show while nothing happens.
type ticker interface {
	Tick(now time.Time) error
}

// noter is a Reporter that shows lines for people which are no events.
type noter interface {
	Note(agent, state, text string) error
}

// doer is a Reporter that shows what agents do at the moment.
type doer interface {
	Doing(agent, state string, p runner.Progress) error
}

// nexter is a Reporter that shows what can be done with the run.
type nexter interface {
	Next(text string) error
}

// Fanout tells several reporters every event, in the order in which they were
// added. One that fails is never called again: a full disk must not end a run.
type Fanout struct {
	members []*member
	warn    func(name string, err error)
}

type member struct {
	name string
	to   Reporter
	off  bool
}

// NewFanout returns a Fanout without members. It calls warn once for each member
// that fails, with the name it was added by.
func NewFanout(warn func(name string, err error)) *Fanout { return &Fanout{warn: warn} }

// Add adds a member. Names are for the warning and need not differ.
func (f *Fanout) Add(name string, to Reporter) {
	f.members = append(f.members, &member{name: name, to: to})
}

// Report tells every member the event.
func (f *Fanout) Report(e state.Event) {
	f.each(func(r Reporter) error { return r.Report(e) })
}

// Tick tells the time to the members that have a method Tick(time.Time) error.
// To be called about ten times a second for a terminal, once a second otherwise.
func (f *Fanout) Tick(now time.Time) {
	f.each(func(r Reporter) error {
		if t, ok := r.(ticker); ok {
			return t.Tick(now)
		}
		return nil
	})
}

// Note tells a line for people, which is no event, to the members that have a
// method Note(agent, state, text string) error.
func (f *Fanout) Note(agent, state, text string) {
	f.each(func(r Reporter) error {
		if n, ok := r.(noter); ok {
			return n.Note(agent, state, text)
		}
		return nil
	})
}

// Doing tells what an agent does to the members that have a method
// Doing(agent, state string, p runner.Progress) error.
func (f *Fanout) Doing(agent, state string, p runner.Progress) {
	f.each(func(r Reporter) error {
		if d, ok := r.(doer); ok {
			return d.Doing(agent, state, p)
		}
		return nil
	})
}

// Next tells what can be done with the run, which has come to rest, to the members
// that have a method Next(text string) error. Pairs of backticks in the text make
// code; it is "" when there is nothing to do. It is told once it is known where
// the run is kept, and so after the last event.
func (f *Fanout) Next(text string) {
	f.each(func(r Reporter) error {
		if n, ok := r.(nexter); ok {
			return n.Next(text)
		}
		return nil
	})
}

// Close closes the members that still work.
func (f *Fanout) Close() { f.each(Reporter.Close) }

func (f *Fanout) each(do func(Reporter) error) {
	for _, m := range f.members {
		if m.off {
			continue
		}
		if err := do(m.to); err != nil {
			m.off = true
			f.warn(m.name, err)
		}
	}
}

// Replay reads a log and tells its events to a reporter, which it does not
// close. A torn last line is ignored, as a run may be writing it; any other line
// that is no event ends the replay with an error that has the line's number.
func Replay(r io.Reader, to Reporter) error {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		if err := replayLine(line, to); err != nil {
			return fmt.Errorf("line %d of the events: %w", n, err)
		}
	}
}

func replayLine(line []byte, to Reporter) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var e state.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	return to.Report(e)
}

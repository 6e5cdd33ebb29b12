package sitetest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// eventLog is the path of the run's own log.
func (s *Site) eventLog() string { return filepath.Join(s.StateDir(), RunID, "events.jsonl") }

// Events returns the events of the run so far.
func (s *Site) Events() []state.Event {
	s.T.Helper()
	return EventsIn(s.T, s.eventLog())
}

// EventsIn reads a log. A missing one is empty, a last line without its end is
// left out: somebody may be writing it.
func EventsIn(t testing.TB, path string) []state.Event {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var events []state.Event
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e state.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: line %q: %v", path, line, err)
		}
		events = append(events, e)
	}
	return events
}

// Bodies returns the events of one type, in order.
func Bodies[T state.Body](events []state.Event) []T {
	var found []T
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			found = append(found, b)
		}
	}
	return found
}

// Normalise reduces a log to what an undisturbed run and one that was stopped and
// resumed have in common, a line an event: without times, ids, folders, and
// without what tells of the interruption.
func Normalise(t testing.TB, events []state.Event) []string {
	t.Helper()
	var lines []string
	for i, e := range events {
		if tellsOfInterruption(events, i) {
			continue
		}
		e.Seq, e.Time = len(lines)+1, time.Time{}
		line, err := anonymous(e).Line(RunID)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return lines
}

// tellsOfInterruption says whether event i would not be there without one.
func tellsOfInterruption(events []state.Event, i int) bool {
	switch b := events[i].Body.(type) {
	case *state.RunStarted:
		return b.Resumed
	case *state.RunFinished:
		return i < len(events)-1
	case *state.AttemptInterrupted, *state.AgentOutput:
		return true
	case *state.StateStarted:
		return startedAgain(events[i+1:], events[i].Agent)
	}
	return false
}

// startedAgain says whether an execution that has begun is begun once more.
func startedAgain(later []state.Event, agent string) bool {
	for _, e := range later {
		if e.Agent != agent {
			continue
		}
		switch e.Body.(type) {
		case *state.StateStarted:
			return true
		case *state.StateFinished:
			return false
		}
	}
	return false
}

// anonymous takes away what differs between two runs of the same workflow: also how
// many invocations were cut off before they told what they cost.
func anonymous(e state.Event) state.Event {
	switch b := e.Body.(type) {
	case *state.RunStarted:
		c := *b
		c.Scope = ""
		e.Body = &c
	case *state.StateStarted:
		c := *b
		c.SessionID, c.Cwd = "", ""
		e.Body = &c
	case *state.StateFinished:
		c := *b
		c.SessionID, c.DurationMS, c.Unknown = "", 0, 0
		e.Body = &c
	case *state.RunFinished:
		c := *b
		c.DurationMS, c.Unknown = 0, 0
		e.Body = &c
	}
	return e
}

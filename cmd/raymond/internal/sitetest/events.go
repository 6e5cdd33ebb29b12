package sitetest

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/state"
)

// Events returns the events in the event log of the run.
func (s *Site) Events() []state.Event {
	s.T.Helper()
	return EventsIn(s.T, filepath.Join(s.StateDir(), RunID, "events.jsonl"))
}

// EventsIn reads an event log. A missing file yields no events. An incomplete last line is skipped,
// since the log may be growing.
func EventsIn(t testing.TB, path string) []state.Event {
	t.Helper()
	var events []state.Event
	for _, line := range LinesOf(t, path) {
		var e state.Event
		assert.NilError(t, json.Unmarshal([]byte(line), &e), "%s: line %q", path, line)
		events = append(events, e)
	}
	return events
}

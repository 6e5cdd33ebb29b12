package repotest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestSchemaOfEventsMatchesLogs validates the event logs in testdata of package report. Together, they contain every type of
// event except agent_goes_on and attempt_interrupted.
func TestSchemaOfEventsMatchesLogs(t *testing.T) {
	t.Parallel()
	s := schema(t, "events")
	all := ""
	for _, log := range glob(t, "runner/report/testdata/pages/*.jsonl") {
		for _, line := range textLines(t, log) {
			assert.Check(t, validJSON(t, s, []byte(line)), "%s: want an event:\n%s", log, line)
			all += line
		}
	}
	for _, branch := range s.OneOf {
		name := filepath.Base(branch.Ref.Location)
		if !slices.Contains([]string{"agent_goes_on", "attempt_interrupted"}, name) && !strings.Contains(all, `"type":"`+name+`"`) {
			t.Errorf("events of the logs: got none of type %s, want some", name)
		}
	}
}

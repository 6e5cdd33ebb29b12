package repotest

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemaOfEventsTakesLogs of runs, with each type of event that a run without a fault has,
// and no line with another key, or without one that each has.
func TestSchemaOfEventsTakesLogs(t *testing.T) {
	t.Parallel()
	s := schema(t, "events")
	seen := map[string]bool{}
	for _, log := range glob(t, "runner/report/testdata/pages/*.jsonl") {
		for _, line := range textLines(t, log) {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(line)))
			if err != nil {
				t.Fatalf("%s: %v", log, err)
			}
			if err := s.Validate(v); err != nil {
				t.Errorf("%s: got %v of\n%s\nwant it to be an event", log, err, line)
			}
			event := v.(map[string]any)
			seen[event["type"].(string)] = true
			for _, key := range []string{"time", "seq", "type", "workflow_id"} {
				other := maps.Clone(event)
				if delete(other, key); s.Validate(other) == nil {
					t.Errorf("%s: got it taken without %s:\n%s", log, key, line)
				}
			}
			if event["unknown_key"] = 1; s.Validate(event) == nil {
				t.Errorf("%s: got it taken with an unknown key:\n%s", log, line)
			}
		}
	}
	var want []string
	for _, branch := range s.OneOf {
		if name := filepath.Base(branch.Ref.Location); name != "agent_goes_on" && name != "attempt_interrupted" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if got := sortedKeys(seen); !slices.Equal(got, want) {
		t.Errorf("types of the events in logs: got %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

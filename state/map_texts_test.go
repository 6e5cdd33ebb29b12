package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
)

// TestMapReachesEveryText checks that Map changes every text in every type of event, and does not change the
// original event.
func TestMapReachesEveryText(t *testing.T) {
	for _, body := range bodySamples() {
		e := Event{Seq: 1, Time: eventTime, Agent: "main", State: "S.md", Body: body}
		before, err := e.Line("id")
		assert.NilError(t, err)
		got, err := e.Map(func(s string) string { return strings.ReplaceAll(s, "text", "***") }).Line("id")
		want := strings.ReplaceAll(string(before), `\"text\"`, `\"***\"`)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", body.Type(), err, diff)
		}
		if after, err := e.Line("id"); string(after) != string(before) || err != nil {
			t.Errorf("%s itself changed (%v): %s", body.Type(), err, after)
		}
	}
}

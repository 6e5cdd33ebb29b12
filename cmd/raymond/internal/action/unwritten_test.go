//go:build linux

package action_test

import "testing"

// TestTheOutputsNeverSayRunning: a run whose state can't be written any more has
// failed, as far as later steps are concerned.
func TestTheOutputsNeverSayRunning(t *testing.T) {
	t.Parallel()
	s := newScene(t, `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto>BREAK.sh</goto>'
-- wf/BREAK.sh --
find "$STATES" -name 'agent-build*.json' -o -name 'agent-build*.journal' | while read -r f; do rm "$f"; mkdir -p "$f/x"; done
echo '<result>done</result>'
`)
	j := s.job(1, "env", "EFFECTS STATES")
	e := j.set("STATES", j.temp).end(j.start())
	if e.Code == 0 {
		t.Errorf("got %v, want a failure", e)
	}
	e.wantOutputs(t, "status", "failed", "outcome", "failed")
	if e.outputs["error-class"] == "" || e.outputs["workflow-id"] == "" {
		t.Errorf("outputs: got %v, want the class of the error and the run", e.outputs)
	}
}

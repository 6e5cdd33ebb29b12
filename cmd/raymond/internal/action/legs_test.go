//go:build linux

package action_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// heldScripts is a workflow of scripts, the second of which waits for a file.
const heldScripts = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto>HOLD.sh</goto>'
-- wf/HOLD.sh --
echo held >>"$EFFECTS"; until [ -e "$EFFECTS.go" ]; do sleep 0.05; done
echo '<result>done</result>'
`

// leg is a job of a matrix.
func (s *scene) leg(run int64, os string, inputs ...string) *bareJob {
	s.t.Helper()
	return s.job(run, append(inputs, "matrix-values", fmt.Sprintf(`{"os":%q}`, os))...).
		set("RUNNER_NAME", os, "ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(run, "build-"+os))
}

// TestALegResumesTheRunFromBeforeTheMatrix, which has the key without digest. One leg
// does: another one that comes while that drives it begins a run of its own with a
// warning, and so does one whose own key has a run already.
func TestALegResumesTheRunFromBeforeTheMatrix(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"GitHub", "act"} { // on Gitea names are replaced, as under act
		as := claimedOn[name]
		s := newScene(t, heldScripts)
		before := s.job(1, "max-iterations", "1")
		as(s.forge, before)
		first := before.do(problem.ExitCodes[problem.ClassOverLimit])
		run := int64(2)
		if name == "act" {
			run = 1 // it has no other ones
		}
		one, two := s.leg(run, "a", "max-iterations", "9"), s.leg(run, "b", "max-iterations", "9")
		as(s.forge, one)
		as(s.forge, two)
		if name == "act" { // the job is another one than the first
			one.set("GITHUB_RUN_ATTEMPT", "2")
			two.set("GITHUB_RUN_ATTEMPT", "2")
		}
		a := one.start()
		a.Until("the resumed run", func() bool { return strings.Count(s.done(), "held") == 1 && len(s.claims()) == 1 })
		b := two.start()
		b.Until("the other leg's own run", func() bool { return strings.Count(s.done(), "held") == 2 })
		s.letGo()
		taken, own := one.end(a), two.end(b)
		if taken.Code != 0 || own.Code != 0 {
			t.Fatalf("%s: got %v\nand %v", name, taken, own)
		}
		taken.wantOutputs(t, "workflow-id", first.outputs["workflow-id"], "status", "completed", "iterations", "2")
		own.wantOutputs(t, "status", "completed", "iterations", "2")
		own.wantSays(t, "warning", "another leg of the matrix drives the run", "agent-build.ref-main", "a new run starts")
		if own.outputs["workflow-id"] == taken.outputs["workflow-id"] {
			t.Errorf("%s: both legs drove run %s", name, own.outputs["workflow-id"])
		}
		if taken.says("warning", "another leg") {
			t.Errorf("%s: warnings of the first leg: %q", name, taken.texts("warning"))
		}
		if left := s.claims(); len(left) > 0 {
			t.Errorf("%s: claims in the end: got %v, want none", name, names(left))
		}
	}
}

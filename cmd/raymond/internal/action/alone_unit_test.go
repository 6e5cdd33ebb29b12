package action

import (
	"errors"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// TestProcessesWithOtherRightsFailTheStep holds that a step fails as denied when something lives
// at its end, and that a command line can't write lines of its own into the log.
func TestProcessesWithOtherRightsFailTheStep(t *testing.T) {
	if err := checkAlone(nil); err != nil {
		t.Errorf("nothing is left: got %v", err)
	}
	var p *problem.Problem
	if err := checkAlone([]string{"12 (sleep\n::warning::9)", "13 (sh)"}); !errors.As(err, &p) {
		t.Fatalf("got %v", err)
	}
	if p.Class != problem.ClassDenied || p.What != "can't be ended: 12 (sleep ::warning::9), 13 (sh)" {
		t.Errorf("got %+v", p)
	}
}

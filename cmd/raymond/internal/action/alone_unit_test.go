package action

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// TestLeftoverProcessesFailTheStep checks that a step fails as denied if a process is left at its
// end, and that the command line of the process can't add lines to the log.
func TestLeftoverProcessesFailTheStep(t *testing.T) {
	assert.Check(t, checkAlone(nil), "nothing is left")
	var p *problem.Problem
	err := checkAlone([]string{"12 (sleep\n::warning::9)", "13 (sh)"})
	assert.Assert(t, errors.As(err, &p), "got %v", err)
	assert.Check(t, is.Equal(p.Class, problem.ClassDenied))
	assert.Check(t, is.Equal(p.What, "can't be ended: 12 (sleep ::warning::9), 13 (sh)"))
}

package state

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestRefusalsAreExplainedOnce checks that a tool call that is denied many times counts only once toward
// maxExplained.
func TestRefusalsAreExplainedOnce(t *testing.T) {
	one, other := Refusal{Use: "Bash: make", Reason: "no rule"}, Refusal{Use: "Edit: a.go", Allow: []string{"Edit"}}
	e := &Exec{}
	e.addRefusals(append(slices.Repeat([]Refusal{one}, 2*maxExplained), other))
	assert.Check(t, is.DeepEqual(e.explainedRefusals(), []Refusal{one, other}))
	assert.Check(t, is.Len(e.Refusals, 2*maxExplained+1))
}

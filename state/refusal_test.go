package state

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestRefusalsAreExplainedOnce states that a use that is refused again and again keeps no other use from being explained.
func TestRefusalsAreExplainedOnce(t *testing.T) {
	one, other := Refusal{Use: "Bash: make", Reason: "no rule"}, Refusal{Use: "Edit: a.go", Allow: []string{"Edit"}}
	e := &Exec{}
	e.addRefusals(append(slices.Repeat([]Refusal{one}, 2*maxExplained), other))
	assert.Check(t, is.DeepEqual(e.explained(), []Refusal{one, other}))
	assert.Check(t, is.Len(e.Refusals, 2*maxExplained+1))
}

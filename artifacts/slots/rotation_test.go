package slots_test

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
)

func generationOf(a artifactstest.Artifact) int {
	g := 0
	_, _ = fmt.Sscanf(string(a.Content), "generation %d", &g) // 0 for other content
	return g
}

// TestRefusedNameIsSkipped checks that the next slot is used if a name stays refused, that the
// newest checkpoint is never deleted, and that the rotation continues with the other names.
func TestRefusedNameIsSkipped(t *testing.T) {
	s := artifactstest.New(t)
	rotated := slotsOf(runtimeOf(t, s, 7))
	for g := 1; g <= 4; g++ {
		assert.NilError(t, store(t.Context(), rotated, g))
	}
	newest, drops := 4, 0
	s.OnChange = func(all []artifactstest.Artifact) {
		if drops++; drops == 2 {
			s.Behavior.RefusalsAfterDelete = 0 // the first deleted name stays refused
		}
		assert.Check(t, slices.ContainsFunc(all, func(a artifactstest.Artifact) bool { return generationOf(a) >= newest }), "generation %d, the newest, was deleted", newest)
	}
	s.Behavior.RefusalsAfterDelete = 1000
	assert.NilError(t, store(t.Context(), rotated, 5), "generation 5")
	newest = 5
	got := generations(s)
	assert.Check(t, is.DeepEqual(got, []int{4, 5}), "generations %v stand", got)
	assert.Check(t, is.Equal(s.All()[1].Name, names[(5+1)%3]), "want generation 5 in the next slot")
	for g := 6; g <= 9; g++ {
		assert.NilError(t, store(t.Context(), rotated, g), "generation %d", g)
		newest = g
	}
	got = generations(s)
	assert.Check(t, is.DeepEqual(got, []int{8, 9}), "generations %v stand", got)
}

func generations(s *artifactstest.Server) []int {
	var list []int
	for _, a := range s.All() {
		list = append(list, generationOf(a))
	}
	slices.Sort(list)
	return list
}

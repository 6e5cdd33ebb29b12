package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestManyModels checks that only a limited number of models get separate totals.
func TestManyModels(t *testing.T) {
	const cent = state.Dollar / 100
	m := NewModel()
	for i := range 30 {
		models := map[string]state.USD{fmt.Sprint("model", i+1): cent, "model0": cent}
		m.Add(state.Event{Agent: "main", State: "A.md", Exec: i + 1, Body: &state.StateFinished{OK: true, DurationMS: 10, Spent: state.Spent{USD: 2 * cent}, Models: models}})
	}
	sums := m.ByModel()
	if got := costsByModel(sums); strings.Count(got, "`model") != maxModels || !strings.Contains(got, "other $0.2100") || sums[0].DurationMS != 300 || sums[0].Executions != 30 {
		t.Errorf("30 models: %+v %s, want %d of them and the rest, and all time in the dearest", sums[0], got, maxModels)
	}
}

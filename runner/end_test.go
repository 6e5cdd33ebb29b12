package runner_test

import (
	"testing"
	"testing/synctest"

	"github.com/raymond-action/raymond-action/state"
)

// TestEndMarks states that a conversation has the length that its transcript had when the last
// invocation in it had ended.
func TestEndMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<goto>B</goto>", "B": "<goto>B</goto>"}, func(o *state.Options) { o.MaxIterations = 2 })
		l.drive(false, state.OverIterations)
		a, _ := l.run.Agent("main")
		if a.Session == nil || a.Session.End == nil || *a.Session.End != int64(len(a.Session.ID)) {
			t.Errorf("got session %+v, want its end", a.Session)
		}
	})
}

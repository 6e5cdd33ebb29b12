package ask

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// HaveAnswers reports whether there is something to do for the questions of a run that
// nobody drives: one has an answer, or was never posted, or can't be looked at by now. Who
// has given an answer that can't be taken is told so.
func HaveAnswers(ctx context.Context, o Options, run *state.Run) bool {
	b := newBoard(run)
	b.note(run, time.Now(), true)
	for _, q := range b.open {
		if q.Comment == 0 {
			return true
		}
	}
	var history History
	if o.History != nil {
		history = *o.History
	}
	answers, err := newClerk(&o).lookUp(ctx, b.open, history)
	return len(answers) > 0 || err != nil
}

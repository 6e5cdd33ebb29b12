package clis

import (
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// Unpriced returns the conversation starts of a workflow whose costs would be unknown: the agent
// CLI reports no dollars, and no model with a known price is set. Under a budget they are rejected.
// It knows only the starts that the workflow's files show.
func Unpriced(w *protocol.Workflow, run *state.Options, book prices.Table) []protocol.ConversationStart {
	var list []protocol.ConversationStart
	for _, b := range w.Chart().Conversations(run.Backend, run.Model).Starts {
		if !slices.ContainsFunc(All, func(c CLI) bool { return c.Abilities.Backend == b.Backend && !c.Abilities.ReportsUSD }) {
			continue
		}
		if _, ok := book.Cost(state.Usage{Model: b.Model}); !ok || b.Model == "" {
			list = append(list, b)
		}
	}
	return list
}

package clis

import (
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// Unpriced returns the conversation starts in a workflow whose cost would be unknown: the agent CLI
// doesn't report costs in dollars, and no model with a known price is set. The caller rejects such
// conversations if the run has a budget. Only the conversation starts that the workflow's files
// show are checked.
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

package clis

import (
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// Unpriced returns the ways in which a conversation may begin, as far as the files of a
// workflow show, with an agent CLI that tells no dollars and without a model that has a
// price. Under a budget they are refused.
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

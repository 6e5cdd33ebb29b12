package gemini

import (
	"context"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// costs is what is known of the tokens of a process: what its result says, and what the key
// proxy has counted.
type costs struct {
	proxy *keyproxy.Account // nil without one
}

// total is the cost of the process. Without a result nobody has told anything.
func (c costs) total(result *record, spoke bool) state.Cost {
	var cost state.Cost
	var told []state.Usage
	if result != nil {
		for _, model := range slices.Sorted(maps.Keys(result.Stats)) {
			if u := result.Stats[model].usage(model); u.All() > 0 {
				told = append(told, u)
				cost.Kind, cost.Usage = state.InTokens, append(cost.Usage, state.ModelCost{Usage: u})
			}
		}
	}
	counted := c.used()
	cost.Silent = !spoke && len(counted) == 0 && len(told) == 0
	cost.Metered, cost.Beyond = c.metered(), beyond(counted, told)
	return cost
}

// model is the one that the result tells the most output of, or else the one that was asked for.
func (c costs) model(result *record, asked string) string {
	best, most := asked, int64(0)
	if result == nil {
		return best
	}
	for _, model := range slices.Sorted(maps.Keys(result.Stats)) {
		if out := result.Stats[model].usage(model).Output; out > most {
			best, most = model, out
		}
	}
	return best
}

// used is what the proxy has counted so far.
func (c costs) used() []state.Usage {
	if c.proxy == nil {
		return nil
	}
	return tally.Usage(c.proxy.Used())
}

// metered is the same as far as nothing that the process does can change it: of an output it has
// only what the API itself has counted.
func (c costs) metered() (list []state.Usage) {
	if c.proxy == nil {
		return nil
	}
	for _, sum := range c.proxy.AtLeast() {
		sum.Output = max(0, sum.Output-sum.Guess)
		list = append(list, sum.Usage)
	}
	return list
}

// beyond returns what was counted beyond the tokens that the CLI has told, model by model.
func beyond(counted, told []state.Usage) []state.Usage {
	told = slices.Clone(told)
	for i, t := range told {
		same := slices.IndexFunc(counted, func(u state.Usage) bool { return state.SameModel(u.Model, t.Model) })
		if same >= 0 {
			told[i].Model = counted[same].Model
		}
	}
	rest := state.Without(counted, told)
	return slices.DeleteFunc(rest, func(u state.Usage) bool { return u.All() == 0 })
}

// follow has seen told what was counted so far, whenever that has grown. The function that is
// returned ends it.
func (c costs) follow(seen func([]state.Usage)) (end func()) {
	if c.proxy == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-c.proxy.Began():
				seen(c.used())
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// explain adds to a failure what only the proxy knows.
func (c costs) explain(f *runner.Failure) *runner.Failure {
	switch {
	case f == nil || c.proxy == nil:
	case c.proxy.IsSpent() && f.Class != runner.Stopped:
		return &runner.Failure{Class: runner.OverBudget, Continue: true, Message: "the budget is used up: the key proxy forwards no further request"}
	case f.Class == runner.Service:
		f.NotBefore = c.proxy.RetryAfter()
	}
	return f
}

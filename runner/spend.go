package runner

import (
	"github.com/raymond-action/raymond-action/state"
)

// used returns what an invocation used beyond what it says that it cost, at list
// prices where there are any: what was seen going by, else, when the invocation
// says nothing, what its transcript shows.
func (r *Runner) used(a *state.Agent, c state.Cost) []state.ModelCost {
	if len(c.Beyond) > 0 || c.Silent || c.Kind != "" {
		return r.priced(c.Beyond)
	}
	return r.priced(r.transcript(a))
}

// unbooked returns, by agent, what the invocations used that the last process of the run
// lost. What it had noted of them counts, else what their transcripts show.
func (r *Runner) unbooked() map[string][]state.ModelCost {
	costs := map[string][]state.ModelCost{}
	for _, a := range r.run.Lost() {
		used := a.Exec.Running.Metered
		if tokens(used) == 0 {
			used = append(r.transcript(a), used...)
		}
		costs[a.ID] = r.priced(used)
	}
	return costs
}

func tokens(used []state.Usage) int64 {
	sum := int64(0)
	for _, u := range used {
		sum += u.Input + u.Output + u.CacheWrite + u.CacheRead
	}
	return sum
}

// priced puts list prices to tokens.
func (r *Runner) priced(used []state.Usage) []state.ModelCost {
	var list []state.ModelCost
	for _, u := range used {
		m := state.ModelCost{Usage: u}
		if r.cfg.ListPrice != nil {
			m.CostUSD, _ = r.cfg.ListPrice(u)
		}
		list = append(list, m)
	}
	return list
}

// metered saves what was seen of the tokens of an invocation so far, so that no
// crash loses it. It is a step of its own that nobody is told of.
func (r *Runner) metered(a *state.Agent, used Metered) error {
	if a.Status != state.Busy || a.Exec == nil || a.Exec.Running == nil {
		return nil
	}
	step := r.run.Step(r.now())
	step.NoteUsage(a.ID, used)
	return r.commit(step.Delta())
}

// transcript returns what the transcript of an agent's invocation shows. A branch
// begins with a copy of its caller's history, which others paid for.
func (r *Runner) transcript(a *state.Agent) []state.Usage {
	run := a.Exec.Running
	if run.Mode == "" {
		return nil
	}
	from := int64(0)
	if run.Length != nil {
		from = *run.Length
	}
	used, ok := r.cfg.Sessions.Usage(run.SessionID, r.dir(a), from)
	if !ok {
		return nil
	}
	if run.Mode == state.Branch {
		before, _ := r.cfg.Sessions.Usage(run.From, r.dir(a), 0)
		used = state.Without(used, before)
	}
	return used
}

package state

import (
	"cmp"
	"slices"
	"time"
)

// addAgents puts the part's agents in the place of those that were handed over, and adds
// those that were created in it.
func (o *partMerge) addAgents() error {
	o.run.Agents = slices.DeleteFunc(o.run.Agents, func(a *Agent) bool { return o.given[a.ID] })
	for _, a := range o.from.Agents {
		if !o.takes(a.ID, a.N) {
			continue
		}
		if err := o.checkNew(a.ID); a.N > o.began.Created && err != nil {
			return err
		}
		o.run.Agents = append(o.run.Agents, o.agent(a))
	}
	if o.given[mainAgent] {
		o.run.Last = o.from.Last
	}
	return nil
}

// agent returns an agent of the part as the run has it from now on.
func (o *partMerge) agent(from *Agent) *Agent {
	a := *from
	a.N = after(a.N, o.began.Created, o.by.agents)
	if from.Exec != nil {
		e := *from.Exec
		e.Iteration = after(e.Iteration, o.began.Iterations, o.by.iterations)
		if e.Running != nil {
			running := *e.Running
			running.N = after(running.N, o.began.Launches, o.by.launches)
			e.Running = &running
		}
		a.Exec = &e
	}
	if w := from.Waits; w != nil {
		waits := *w
		if w.Question != nil {
			q := *w.Question
			q.Number = after(q.Number, o.began.Questions, o.by.questions)
			waits.Question = &q
		}
		a.Waits = &waits
	}
	if a.Status == Stuck {
		o.waitAgain(&a)
	}
	// Whoever runs the part too late must not be taken for one that runs it now.
	if i := slices.IndexFunc(o.part.Agents, func(h Handover) bool { return h.Agent == from.ID }); i >= 0 {
		a.Handed = max(a.Handed, o.part.Agents[i].Number+1)
	}
	return &a
}

// after moves a number of the part's own behind those of the run.
func after(n, began, by int) int {
	if n > began {
		return n + by
	}
	return n
}

// waitAgain has an agent that failed in the part wait for the job again, which begins its
// state anew.
func (o *partMerge) waitAgain(a *Agent) {
	why := ""
	if a.Failure != nil {
		why = a.Failure.Message
	}
	if a.Exec != nil {
		a.Cut, a.Exec = a.Exec.EntryLen, nil
	}
	a.Failure, a.NotBefore, a.Wait, a.Outage = nil, time.Time{}, 0, nil
	a.Status, a.Handed = Waiting, a.Handed+1
	a.Waits = &Waits{For: ForJob, Since: stamp(o.Now), Job: cmp.Or(o.JobOf(a.State), o.part.Job), Error: why}
	o.told = append(o.told, Event{Time: stamp(o.Now), Agent: a.ID, State: a.State, Body: &AgentWaits{For: ForJob, Job: a.Waits.Job}})
}

// addEnded adds the agents that ended in the part. They are its last ones.
func (o *partMerge) addEnded() error {
	var delivered []string
	before, ended := o.from.Ended[:o.began.Ended], o.from.Ended[o.began.Ended:]
	for _, e := range before {
		if e.Delivered && o.part.Has(e.Agent) {
			delivered = append(delivered, e.Agent)
		}
	}
	o.run.Ended = markDelivered(o.run.Ended, delivered)
	for _, e := range ended {
		switch {
		case o.given[e.Agent]:
		case o.base[e.Agent] && e.N <= o.began.Created, !o.takes(e.Agent, o.began.Created+1):
			continue // it ended before the part, or is not of those that are taken
		default:
			if err := o.checkNew(e.Agent); err != nil {
				return err
			}
		}
		e.Dir, e.N = "", after(e.N, o.began.Created, o.by.agents)
		o.run.Ended = append(o.run.Ended, e)
	}
	return nil
}

// addLedger adds what the part has cost, and what jobs have spent that ran it once more.
func (o *partMerge) addLedger(others []*Run) {
	o.addEntries(o.from, func(Entry) bool { return true })
	o.run.Progress.Launches += o.from.Progress.Launches - o.began.Launches
	known := map[entryKey]bool{}
	for _, e := range o.from.Ledger {
		known[keyOf(e)] = true
	}
	for _, other := range others {
		own, _ := other.Parts.Own()
		again := *o
		again.began, again.by.launches = own.Began, o.run.Progress.Launches-own.Began.Launches
		if again.addEntries(other, func(e Entry) bool { return !known[keyOf(e)] }) {
			o.run.Progress.Launches += other.Progress.Launches - own.Began.Launches
		}
		for _, e := range other.Ledger {
			known[keyOf(e)] = true
		}
	}
}

// entryKey tells the invocations of a part from those of another job that ran it.
type entryKey struct {
	n              int
	agent, session string
	cost           USD
	unpriced       int64
}

func keyOf(e Entry) entryKey { return entryKey{e.N, e.Agent, e.Session, e.CostUSD, e.Unpriced} }

// addEntries adds a part's own entries of the ledger, and reports whether there were any.
func (o *partMerge) addEntries(from *Run, isNew func(Entry) bool) (added bool) {
	for _, e := range from.Ledger {
		if e.N > o.began.Launches && isNew(e) {
			e.N, added = e.N+o.by.launches, true
			o.run.Ledger = append(o.run.Ledger, e)
		}
	}
	return added
}

// addProgress counts what was done in the part.
func (o *partMerge) addProgress() {
	p, from := &o.run.Progress, &o.from.Progress
	p.Seq += from.Seq - o.began.Seq
	p.Iterations += from.Iterations - o.began.Iterations
	p.Created += from.Created - o.began.Created
	p.FlakeRetries += from.FlakeRetries - o.began.FlakeRetries
	p.Questions += from.Questions - o.began.Questions
	p.HasJoin = p.HasJoin || from.HasJoin
	p.Warned = p.Warned || from.Warned
	for _, name := range o.from.Used {
		if !slices.Contains(o.run.Used, name) {
			o.run.Used = append(o.run.Used, name)
		}
	}
}

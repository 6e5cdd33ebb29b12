package state_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// matrixRun returns a run whose main agent has forked n agents. They wait for the job "work", and each has
// been handed over once.
func matrixRun(t *testing.T, n int) *play {
	t.Helper()
	p := newPlay(t, func(o *state.Options) { o.MaxParallel, o.MaxAgents, o.BudgetUSD = 99, 999, 100*state.Dollar })
	for range n {
		p.turn("main", goTo("A.md"), protocol.Spawn{State: "B.md", Next: "A.md"})
	}
	waiting := *p.run
	waiting.Agents = slices.Clone(waiting.Agents)
	for i, a := range waiting.Agents {
		if a.ID != "main" {
			w := *a
			w.Status, w.Handovers, w.Waits = state.Waiting, 1, &state.WaitCondition{For: state.ForJob, Job: "work", Since: statetest.Epoch}
			waiting.Agents[i] = &w
		}
	}
	p.run = waiting.With(&state.Delta{Progress: waiting.Progress, Events: waiting.Events})
	return p
}

// handOver divides the waiting agents among jobs and returns the parts. most is the maximum number of jobs.
func (p *play) handOver(most int) []state.Part {
	p.t.Helper()
	p.do(func(s *state.Step) {
		s.Close(state.Closing{Status: state.Suspended, Reason: "it waits"})
		s.HandOver("work", most)
	})
	return p.run.Parts.Matrix()
}

// endWaits returns a copy of the run in which the waits of the named agents have ended.
func endWaits(run *state.Run, agents ...string) *state.Run {
	next := run.With(&state.Delta{Progress: run.Progress, Events: run.Events})
	for i, a := range next.Agents {
		if slices.Contains(agents, a.ID) {
			w := *a
			w.Status, w.Waits = state.Ready, nil
			next.Agents[i] = &w
		}
	}
	next.Progress.Status = state.Running
	return next.With(&state.Delta{Progress: next.Progress, Events: next.Events})
}

// work makes the agent do its work in a job. The work is random, but always the same for the same name.
func (p *play) work(id string) {
	p.t.Helper()
	rnd := rand.New(rand.NewPCG(7, uint64(len(id))*uint64(id[len(id)-1])))
	p.now = p.now.Add(time.Duration(1+rnd.IntN(5)) * time.Second)
	for range rnd.IntN(3) {
		o := moveOutcome(3, goTo("C.md"))
		o.Cost.Usage = []state.ModelCost{{Usage: state.Usage{Model: "m", Input: 5, Output: 2}, CostUSD: 3}}
		o.Cost.Unpriced, o.Cost.Listed = 2, true
		p.invoke(id, o)
	}
	if rnd.IntN(2) == 0 {
		p.turn(id, goTo("C.md"), protocol.Spawn{State: "C.md", Next: "C.md"})
		if child := p.agent(id).ID + "_c1"; rnd.IntN(2) == 0 {
			p.turn(child, result("of "+child))
		}
	}
	switch rnd.IntN(4) {
	case 0: // the work stops in the middle of a state
		p.start(id)
	case 1:
		p.turn(id, call("A.md", "C.md"))
	default:
		p.turn(id, result("of "+id))
	}
}

// runPart runs a part as its job would, and returns the result.
func (p *play) runPart(part state.Part) state.PartRun {
	q := &play{t: p.t, now: p.now, policies: p.policies, ids: 1000 * len(part.Agents)}
	var names []string
	for _, a := range part.Agents {
		names = append(names, a.Agent)
	}
	q.run = endWaits(part.NewRun(p.run), names...)
	for _, name := range names {
		q.work(name)
	}
	p.now = q.now
	return state.PartRun{Part: part, Runs: []*state.Run{q.run}, Events: q.events}
}

// partJoin returns the input for merging parts into base.
func partJoin(base *state.Run, parts ...state.PartRun) state.PartJoin {
	return state.PartJoin{Base: base, Parts: parts, JobOf: func(string) string { return "work" }, Now: statetest.Epoch.Add(time.Hour)}
}

// join merges parts into the run of p and returns the merged run. It checks that the run of p does not
// change.
func (p *play) join(parts ...state.PartRun) *state.JoinedRun {
	p.t.Helper()
	before := string(statetest.Encode(p.t, p.run))
	joined, err := partJoin(p.run, parts...).Join()
	assert.NilError(p.t, err)
	equal(p.t, "the run that is joined", string(statetest.Encode(p.t, p.run)), before)
	return joined
}

// normalized returns a copy of the run without the fields that depend on the job in which it was driven.
func normalized(run *state.Run) *state.Run {
	c := run.With(&state.Delta{Progress: run.Progress})
	c.Parts, c.Options = nil, state.Options{}
	c.Progress.LastBegun, c.Progress.Status, c.Progress.Reason = 0, "", ""
	for i, a := range c.Agents {
		b := *a
		b.Handovers = 0
		c.Agents[i] = &b
	}
	return c
}

// logLines returns events as lines of an event log.
func logLines(t *testing.T, events []state.Event) []string {
	t.Helper()
	var out []string
	for _, e := range events {
		line, err := e.Line("run-1")
		assert.NilError(t, err)
		out = append(out, string(line))
	}
	return out
}

// TestJoinedPartsEqualOneRun divides a run among different numbers of jobs. It checks that the merged parts
// equal a run in which one job did all of the work.
func TestJoinedPartsEqualOneRun(t *testing.T) {
	for jobs := 1; jobs <= 7; jobs++ {
		p := matrixRun(t, 7)
		parts := p.handOver(jobs)
		equal(t, "parts", len(parts), jobs)
		single := &play{t: t, run: p.run, now: p.now, policies: p.policies}
		var ran []state.PartRun
		for _, part := range parts {
			ran = append(ran, p.runPart(part))
		}
		for _, part := range parts {
			single.ids = 1000 * len(part.Agents)
			for _, a := range part.Agents {
				single.run = endWaits(single.run, a.Agent)
			}
			for _, a := range part.Agents {
				single.work(a.Agent)
			}
		}
		joined := p.join(ran...)
		want := normalized(single.run)
		want.Progress.Events = joined.Run.Progress.Events
		assert.Check(t, is.DeepEqual(normalized(joined.Run), want, cmpopts.IgnoreUnexported(state.Run{})), "%d jobs: joined -, one run +", jobs)
		assert.Check(t, is.DeepEqual(logLines(t, joined.Events), logLines(t, single.events)), "%d jobs: events, joined -, of one run +", jobs)
	}
}

// TestJoinAgainChangesNothing checks that merging the same parts a second time changes nothing. This
// happens if a job is killed after it has saved the merged run.
func TestJoinAgainChangesNothing(t *testing.T) {
	p := matrixRun(t, 6)
	var ran []state.PartRun
	for i, part := range p.handOver(3) {
		r := p.runPart(part)
		if i == 2 {
			r = state.PartRun{Part: part} // its job has stored nothing
		}
		ran = append(ran, r)
	}
	once := p.join(ran...)
	for _, h := range ran[2].Part.Agents {
		if a, _ := once.Run.Agent(h.Agent); a.Handovers != 2 || a.Status != state.Waiting {
			t.Errorf("%s is %s with the number %d, want it to wait with 2, so that work of a late job is not taken", a.ID, a.Status, a.Handovers)
		}
	}
	late := p.runPart(ran[2].Part)
	if joined, err := partJoin(once.Run, late).Join(); err != nil || joined.Run.Progress.TotalUSD != once.Run.Progress.TotalUSD {
		t.Errorf("a job that came too late: got %v with %v, want nothing of it", err, joined)
	}
	again, err := partJoin(once.Run, ran...).Join()
	assert.NilError(t, err)
	if diff := cmp.Diff(normalized(once.Run), normalized(again.Run), cmpopts.IgnoreUnexported(state.Run{})); diff != "" || len(again.Events) > 0 {
		t.Errorf("joined once -, twice +: %d events\n%s", len(again.Events), diff)
	}
}

// TestFailedAgentWaitsAgain checks that an agent that failed in a part waits for its job again, with its
// error and a new number. The earlier part stays in the run with the current numbers of its agents, because
// its job may be run again.
func TestFailedAgentWaitsAgain(t *testing.T) {
	p := matrixRun(t, 4)
	parts := p.handOver(2)
	one, two := p.runPart(parts[0]), p.runPart(parts[1])
	q := &play{t: t, now: p.now, run: endWaits(parts[1].NewRun(p.run), "main_b2"), policies: p.policies}
	q.invoke("main_b2", fail(state.Fatal, "it broke"))
	two.Runs, two.Events = []*state.Run{q.run}, q.events
	joined := p.join(one, two)
	a, _ := joined.Run.Agent("main_b2")
	equal(t, "waits", []any{a.Status, a.Waits.Error, a.Waits.Job, a.Handovers, a.Exec == nil}, []any{state.Waiting, "it broke", "work", 2, true})
	if last := joined.Run.Events; len(last) != 1 || last[0].Agent != "main_b2" || last[0].Seq != joined.Run.Progress.Events {
		t.Errorf("last event: got %v, want that main_b2 waits", last)
	}
	p.run = joined.Run
	want := state.NewPart(p.run.Agents, []string{"main_b2", "main_b4"}, []string{"work"})
	again := p.handOver(64)
	assert.Check(t, slices.ContainsFunc(again, func(part state.Part) bool { return part.MayContain("main_b2") }), "handed over again: got %v, want main_b2 among them", again)
	if !slices.ContainsFunc(p.run.Parts, func(part state.Part) bool { return part.Earlier && part.Name == want.Name }) {
		t.Errorf("parts: got %+v, want the earlier one with its present numbers among them", p.run.Parts)
	}
}

// TestRunningPartIsLeftAlone checks that no other job gets the agents of a part while a job may be running
// that part.
func TestRunningPartIsLeftAlone(t *testing.T) {
	p := matrixRun(t, 2)
	parts := p.handOver(2)
	one, two := p.runPart(parts[0]), p.runPart(parts[1])
	held := two
	held.Running = true
	p.run = p.join(one, held).Run
	step := p.run.Step(p.now)
	step.UpdateWaits(state.Here{}) // this process runs all jobs
	if a, _ := step.Agent("main_b2"); a.Status != state.Waiting {
		t.Errorf("main_b2 is %s while a job may be running it, want it to wait", a.Status)
	}
	for _, part := range p.handOver(64) {
		assert.Check(t, !part.MayContain("main_b2"), "main_b2 was handed over while a job may be running it")
	}
	if a, there := p.join(two).Run.Agent("main_b2"); there && a.Status == state.Waiting && a.Handovers == 1 {
		t.Error("the part was not joined when it had ended")
	}
}

// TestPartThatRanTwiceCountsOnce checks that if two jobs ran a part, only the first result is merged, but
// the costs of both jobs count.
func TestPartThatRanTwiceCountsOnce(t *testing.T) {
	p := matrixRun(t, 2)
	part := p.handOver(1)[0]
	one, two := p.runPart(part), p.runPart(part)
	spent := one.Runs[0].Progress.TotalUSD - p.run.Progress.TotalUSD
	// Another session makes the entries count as other invocations.
	for i, e := range two.Runs[0].Ledger {
		two.Runs[0].Ledger[i].Session = "x" + e.Session
	}
	once := p.join(one).Run
	twice := p.join(state.PartRun{Part: part, Runs: []*state.Run{one.Runs[0], two.Runs[0]}, Events: one.Events}).Run
	equal(t, "cost", twice.Progress.TotalUSD, once.Progress.TotalUSD+spent)
	equal(t, "results", len(twice.Ended), len(once.Ended))
	same := p.join(state.PartRun{Part: part, Runs: []*state.Run{one.Runs[0], one.Runs[0]}, Events: one.Events}).Run
	equal(t, "cost of one that was continued", same.Progress.TotalUSD, once.Progress.TotalUSD)
}

// TestTwoPartsWithOneAgentAreAConflict checks that Join returns a conflict if two parts contain the same
// agent.
func TestTwoPartsWithOneAgentAreAConflict(t *testing.T) {
	p := matrixRun(t, 3)
	whole := state.NewPart(p.run.Agents, []string{"main_b1", "main_b2", "main_b3"}, []string{"work"})
	parts := p.handOver(3)
	one, all := p.runPart(parts[0]), p.runPart(whole)
	_, err := partJoin(p.run, one, all).Join()
	var conflict *state.PartConflict
	assert.Check(t, errors.As(err, &conflict), "got %v, want a conflict about main_b1", err)
	assert.Check(t, is.Equal(conflict.Agent, "main_b1"))
	all.Runs = nil // its job has stored nothing
	_, err = partJoin(p.run, one, all).Join()
	assert.Check(t, err)
}

// forgeAgent adds an agent to a run as if the agent had been created in that run.
func forgeAgent(run *state.Run, id, parent string) {
	run.Progress.Created++
	run.Agents = append(run.Agents, &state.Agent{ID: id, N: run.Progress.Created, Parent: parent, State: "A.md", Status: state.Ready})
}

// TestForgedPartsAreRefused checks that Join rejects runs that can't belong to their part.
func TestForgedPartsAreRefused(t *testing.T) {
	for name, forge := range map[string]func(r *state.PartRun, run *state.Run){
		"another run":     func(_ *state.PartRun, run *state.Run) { run.WorkflowID = "run-2" },
		"another mark":    func(_ *state.PartRun, run *state.Run) { run.Mark = "fedcba9876543210" },
		"the run itself":  func(_ *state.PartRun, run *state.Run) { run.Parts = nil },
		"of another part": func(r *state.PartRun, _ *state.Run) { r.Part.Name = "00000000" },
		"an agent that was not handed over": func(_ *state.PartRun, run *state.Run) {
			forgeAgent(run, "main_b2_x1", "main_b2")
		},
		"a parent of another part": func(_ *state.PartRun, run *state.Run) {
			forgeAgent(run, "main_b1_x1", "main_b2")
		},
		"its own agent is missing": func(_ *state.PartRun, run *state.Run) { run.Agents = run.Agents[:1]; run.Ended = nil },
		"an entry of another agent": func(_ *state.PartRun, run *state.Run) {
			run.Ledger = append(run.Ledger, state.LedgerEntry{N: 99, Agent: "main_b2", Kind: state.Exact})
		},
		"a beginning in the future": func(_ *state.PartRun, run *state.Run) {
			run.Parts[0].Start.Iterations = 1 << 40
		},
		"fewer results than before": func(_ *state.PartRun, run *state.Run) {
			run.Parts[0].Start.Ended = len(run.Ended) + 1
		},
		"an event of another part": func(r *state.PartRun, _ *state.Run) {
			r.Events = append(r.Events, state.Event{Seq: 1 << 20, Agent: "main_b2", Body: &state.AgentStarted{}})
		},
		"an event from before": func(r *state.PartRun, _ *state.Run) {
			r.Events = append([]state.Event{{Seq: 1, Body: &state.RunStarted{}}}, r.Events...)
		},
	} {
		p := matrixRun(t, 2)
		ran := p.runPart(p.handOver(2)[0])
		run := *ran.Runs[0]
		run.Agents, run.Ended, run.Ledger = slices.Clone(run.Agents), slices.Clone(run.Ended), slices.Clone(run.Ledger)
		run.Agents[1], run.Parts = new(*run.Agents[1]), slices.Clone(run.Parts)
		run.Parts[0].Start = new(*run.Parts[0].Start)
		forge(&ran, &run)
		ran.Runs = []*state.Run{&run}
		var bad *state.FileError
		_, err := partJoin(p.run, ran).Join()
		assert.Check(t, errors.As(err, &bad), "%s: got %v, want a FileError", name, err)
	}
}

// TestForgedPartsAreNotRead checks that Decode rejects runs with invalid parts.
func TestForgedPartsAreNotRead(t *testing.T) {
	for name, forge := range map[string]func(*state.Part){
		"a negative beginning": func(p *state.Part) { p.Start.Launches = -1 },
		"a negative number":    func(p *state.Part) { p.Agents = []state.Handover{{Agent: "main_b1", Number: -1}} },
		"another name":         func(p *state.Part) { p.Name = "00000000" },
		"no agents":            func(p *state.Part) { p.Agents = nil },
	} {
		p := matrixRun(t, 2)
		run := p.handOver(2)[0].NewRun(p.run)
		forge(&run.Parts[0])
		_, err := state.Decode(statetest.Encode(t, run))
		assert.Check(t, err != nil, "%s: got a run, want an error", name)
	}
}

// TestAgentIsTakenOnlyWithItsPresentNumber merges a part with two agents. The first agent has been handed
// over again since the part began. Only the second agent may be taken from the part.
func TestAgentIsTakenOnlyWithItsPresentNumber(t *testing.T) {
	p := matrixRun(t, 2)
	part := p.handOver(1)[0]
	q := &play{t: t, now: p.now, run: endWaits(part.NewRun(p.run), "main_b1", "main_b2"), policies: p.policies}
	for _, id := range []string{"main_b1", "main_b2"} {
		q.turn(id, goTo("C.md"), protocol.Spawn{State: "C.md", Next: "C.md"})
	}
	again := *p.agent("main_b1")
	again.Handovers++
	p.run = p.run.With(&state.Delta{Progress: p.run.Progress, Agents: []*state.Agent{&again}})
	p.run = p.join(state.PartRun{Part: part, Runs: []*state.Run{q.run}, Events: q.events}).Run
	equal(t, "of the one", []any{p.status("main_b1"), p.agent("main_b1").State}, []any{state.Waiting, "B.md"})
	equal(t, "of the other", []any{p.agent("main_b2").State, p.agent("main_b2_c1").State, len(p.run.Agents)}, []any{"C.md", "C.md", 4})
}

// TestTakenNameIsAConflict checks that Join returns a conflict if two agents would have the same name.
func TestTakenNameIsAConflict(t *testing.T) {
	p := matrixRun(t, 2)
	part := p.handOver(2)[0]
	q := &play{t: t, now: p.now, run: endWaits(part.NewRun(p.run), "main_b1"), policies: p.policies}
	q.turn("main_b1", goTo("C.md"), protocol.Spawn{State: "C.md", Next: "C.md"})
	base := p.run.With(&state.Delta{Progress: p.run.Progress})
	base.Ended = append(base.Ended, state.Ending{Agent: "main_b1_c1"})
	base.Progress.Created++
	for _, ends := range []bool{false, true} {
		if ends {
			q.turn("main_b1_c1", result("done"))
		}
		_, err := partJoin(base, state.PartRun{Part: part, Runs: []*state.Run{q.run}, Events: q.events}).Join()
		var conflict *state.PartConflict
		assert.Check(t, errors.As(err, &conflict), "got %v, want a conflict about main_b1_c1", err)
		assert.Check(t, is.Equal(conflict.Agent, "main_b1_c1"))
	}
}

// TestBudgetShareOfAPart checks that a part's share of the budget is proportional to the number of its
// agents. It also checks that each part has its own mark, so that it ends only its own processes.
func TestBudgetShareOfAPart(t *testing.T) {
	p := matrixRun(t, 12)
	spent := p.run.Progress.TotalUSD
	left, seen := 100*state.Dollar-spent, map[string]bool{p.run.Mark: true}
	for _, part := range p.handOver(5) {
		equal(t, "share", part.BudgetShare(100*state.Dollar, spent, p.run.Agents)-spent, left*state.USD(len(part.Agents))/12)
		equal(t, "without a budget", part.BudgetShare(0, spent, p.run.Agents), state.USD(0))
		equal(t, "with nothing left", part.BudgetShare(spent, spent, p.run.Agents), spent)
		mark := part.NewRun(p.run).Mark
		rest, _ := strings.CutPrefix(mark, p.run.Mark)
		if seen[mark] || rest == "" || rest[0] == '.' {
			t.Errorf("part %s: got the mark %q, want one of its own that doesn't count as a process of %q", part.Name, mark, p.run.Mark)
		}
		seen[mark] = true
	}
}

// TestAgentsArePackedEvenly checks the sizes of the parts for different maximum numbers of jobs.
func TestAgentsArePackedEvenly(t *testing.T) {
	for most, sizes := range map[int][]int{4: {2, 2, 2, 1}, 64: {1, 1, 1, 1, 1, 1, 1}, 0: {7}, -3: {7}} {
		got := []int{}
		for _, part := range matrixRun(t, 7).handOver(most) {
			got = append(got, len(part.Agents))
		}
		equal(t, fmt.Sprintf("agents of %d jobs", most), got, sizes)
	}
	equal(t, "parts without agents", len(matrixRun(t, 0).handOver(4)), 0)
}

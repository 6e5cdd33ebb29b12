package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// again begins a run again from state execution n of the run that l has driven to its end, and
// drives it to its own. Agents say what they said from there on.
func (l *loop) again(n int, people runner.People) *loop {
	l.t.Helper()
	at := l.startOf(n)
	run, err := state.Rerun(at, n, state.Renewal{WorkflowID: "run-2", Mark: "fedcba9876543210", Now: time.Now()})
	if err != nil {
		l.t.Fatal(err)
	}
	next := *l
	next.run, next.base = run, run
	next.fresh()
	next.cfg.Store, next.cfg.Reporter, next.cfg.People = next.store, next.log, people
	clear(next.calls)
	next.orders, next.began = nil, nil
	for _, e := range l.log.events {
		switch e.Body.(type) {
		case *state.StateFinished, *state.Reminder, *state.Retry:
			if e.Seq <= at.Progress.Events {
				next.calls[e.Agent+" "+e.State]++
			}
		}
	}
	next.drive(false, l.run.Progress.Status)
	return &next
}

// startOf is the run as it was saved by the step that started state execution n.
func (l *loop) startOf(n int) *state.Run {
	l.t.Helper()
	for _, data := range l.store.saves {
		if r := decoded(l.t, data); r.Progress.Iterations >= n {
			return r
		}
	}
	l.t.Fatalf("no save has state execution %d", n)
	return nil
}

// path has what the executions from n on did, each by its number.
func (l *loop) path(n int) []string {
	var list []string
	for _, e := range l.log.events {
		if e.Exec < n {
			continue
		}
		switch b := e.Body.(type) {
		case *state.StateFinished:
			list = append(list, fmt.Sprint(e.Exec, " ", e.Agent, " ", e.State, " ", b.OK))
		case *state.Transition:
			list = append(list, fmt.Sprint(e.Exec, " ", e.Agent, " ", b.Tag, " ", b.Target))
		}
	}
	return list
}

// calls is a workflow in which two agents call, branch, fail for a while and are reminded.
func calls(t *testing.T) *loop {
	l := newLoop(t, flow{
		"A": `<fork next="B">W</fork>`, "B": `<call return="C">X</call>`, "X": `<function return="Y" model="m2">Z</function>`,
		"Z": "<result>z</result>", "Y": "<result>y</result>", "C": "<reset>D</reset>", "D": "<result>d</result>",
		"W": `<call return="V">X</call>`, "V": "<goto>END</goto>", "END": "<result>w</result>",
	}, nil)
	l.says["V.md"] = []string{"transient!down", "no tag", "<goto>END</goto>"}
	l.says["C.md"] = []string{"nothing", "<reset>D</reset>"}
	return l
}

// TestRerunIsTheContinuation: a run that begins again from any of its executions ends as it
// did, by the same path when one agent works at a time, and has the rest of its cost.
func TestRerunIsTheContinuation(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) *loop{
		"waits": func(t *testing.T) *loop { return newWaiters(t, 1) }, "waits of two": func(t *testing.T) *loop { return newWaiters(t, 2) },
		"attempts": fifth, "calls": calls,
	} {
		last := 0
		for n := 1; n == 1 || n <= last; n++ {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t)
				l.drive(false, state.Completed)
				last = l.run.Progress.Iterations
				before := l.run.Progress
				var people runner.People
				if strings.HasPrefix(name, "waits") {
					people = octocat()
				}
				r := l.again(n, people)
				same(t, fmt.Sprint(name, ": results from ", n), ended(l.run), ended(r.run))
				same(t, fmt.Sprint(name, ": the original after a rerun from ", n), before, l.run.Progress)
				if polls := r.asked("POLL"); strings.HasPrefix(name, "waits") && len(polls) > 0 {
					was := l.asked("POLL")
					same(t, fmt.Sprint("joined from ", n), joined(t, was[len(was)-1]), joined(t, polls[len(polls)-1]))
				}
				if strings.HasPrefix(name, "waits") {
					return // the times that some wait for have come since
				}
				same(t, fmt.Sprint(name, ": path from ", n), strings.Join(l.path(n), "\n"), strings.Join(r.path(n), "\n"))
				same(t, fmt.Sprint(name, ": cost from ", n), l.run.Progress.TotalUSD, r.run.InheritedUSD+r.run.Progress.TotalUSD)
				first := r.log.events[slices.IndexFunc(r.log.events, func(e state.Event) bool { _, ok := e.Body.(*state.StateStarted); return ok && e.Exec >= n })]
				same(t, name+": the first execution", n, first.Exec)
			})
			if t.Failed() {
				t.Fatalf("%s: a rerun from %d of %d", name, n, last)
			}
		}
	}
}

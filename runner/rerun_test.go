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

// TestRerunIsTheContinuation: a run that begins again from any of its executions ends as it
// did, by the same path when one agent works at a time, and has the rest of its cost.
func TestRerunIsTheContinuation(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) *loop{
		"waits":    func(t *testing.T) *loop { return newWaiters(t, 2) },
		"attempts": fifth, "calls": func(t *testing.T) *loop { return newWorld(t, "START", nil) },
	} {
		last := 0
		for n := 1; n == 1 || n <= last; n++ {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t)
				l.drive(false, state.Completed)
				last = l.run.Progress.Iterations
				var people runner.People
				if strings.HasPrefix(name, "waits") {
					people = octocat()
				}
				r := l.again(n, people)
				same(t, fmt.Sprint(name, ": results from ", n), ended(l.run), ended(r.run))
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

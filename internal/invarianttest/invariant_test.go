package invarianttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// actor drives a run step by step and collects the evidence.
type actor struct {
	t        *testing.T
	run      *state.Run
	evidence Evidence
	ids      int
}

// do makes one step of the run and logs its events.
func (a *actor) do(f func(*state.Step)) {
	a.t.Helper()
	s := a.run.Step(epoch)
	f(s)
	a.run = a.run.With(s.Delta())
	a.evidence.Events = append(a.evidence.Events, a.run.Events...)
}

// stateOf returns a state without a policy. It is a script if the name ends in .sh, and otherwise a prompt.
func stateOf(name string) *protocol.State {
	kind := protocol.Prompt
	if strings.HasSuffix(name, ".sh") {
		kind = protocol.Script
	}
	return &protocol.State{Name: name, Kind: kind}
}

// start starts an invocation of an agent and records an effect for it.
func (a *actor) start(id string) {
	a.t.Helper()
	a.do(func(s *state.Step) {
		agent, _ := s.Agent(id)
		l := state.Launch{State: stateOf(agent.State), Plan: agent.Plan(stateOf(agent.State), state.CLI{Name: protocol.BackendClaude, AcceptsSessionID: true}), Cwd: "/d"}
		if l.Plan.Mode == state.Resume {
			l.SessionID, l.Length = l.Plan.Session.ID, new(int64(1))
		} else if l.Plan.Mode != "" {
			a.ids++
			l.SessionID = fmt.Sprintf("s%d", a.ids)
		}
		s.Start(id, l)
	})
	agent, _ := a.run.Agent(id)
	line := fmt.Sprintf(`{"agent":%q,"state":%q,"payload":%q}`, id, agent.State, agent.Payload)
	a.evidence.Effects = append(a.evidence.Effects, ParseEffects([]string{line})...)
}

// end ends the agent's invocation with a move. The invocation costs a dollar.
func (a *actor) end(id string, then protocol.Move, spawns ...protocol.Spawn) {
	a.t.Helper()
	a.do(func(s *state.Step) {
		agent, _ := s.Agent(id)
		o := state.Outcome{Cost: state.Cost{Kind: state.Exact, USD: state.Dollar}, Decision: protocol.Decision{Spawns: spawns, Then: then}}
		s.End(id, stateOf(agent.State), o)
	})
}

// turn starts an invocation of an agent and ends it with a move. The invocation costs a dollar.
func (a *actor) turn(id string, then protocol.Move, spawns ...protocol.Spawn) {
	a.t.Helper()
	a.start(id)
	a.end(id, then, spawns...)
}

// idle records that no process drives the run any more, and stores a checkpoint. The store keeps the last
// three checkpoints.
func (a *actor) idle() {
	a.evidence.IdleMoments = append(a.evidence.IdleMoments, IdleMoment{Run: a.run, Effects: len(a.evidence.Effects)})
	m := checkpoint.Manifest{WorkflowID: a.run.WorkflowID, Key: "k", RunID: 1, Generation: len(a.evidence.Checkpoints) + 1, Seq: a.run.Progress.Seq, TotalUSD: a.run.Progress.TotalUSD}
	if n := len(a.evidence.Checkpoints); n > 0 {
		m.Previous = a.evidence.Checkpoints[n-1].Digest
	}
	a.evidence.Checkpoints = append(a.evidence.Checkpoints, StoredCheckpoint{Digest: fmt.Sprintf("sha256:%d", m.Generation), Manifest: m, Run: a.run})
	shelf := StoreListing{Stored: len(a.evidence.Checkpoints)}
	for i := max(0, shelf.Stored-3); i < shelf.Stored; i++ {
		shelf.Present = append(shelf.Present, i)
	}
	a.evidence.StoreListings = append(a.evidence.StoreListings, shelf)
}

func goTo(to string) protocol.Move     { return protocol.Move{Verb: protocol.Goto, To: to} }
func result(text string) protocol.Move { return protocol.Move{Verb: protocol.Result, Text: text} }
func call(to, back string) protocol.Move {
	return protocol.Move{Verb: protocol.Call, To: to, Return: back, Input: "of the call"}
}

// goodRun returns the evidence of a run with a fork, a call and three moments at which the process died.
// The first of them interrupts a prompt, and the last one comes after the end of the run.
func goodRun(t *testing.T) Evidence {
	files := map[string]string{}
	for _, name := range []string{"A.md", "B.md", "C.md", "D.md", "E.sh", "F.md"} {
		files[name] = strings.Repeat("ab", 32)
	}
	a := &actor{t: t, run: state.New(state.Run{
		WorkflowID: "w", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/d", Files: files,
		Options: state.Options{MaxParallel: 3, MaxAgents: 20, MaxDepth: 4, MaxRetries: 2, PermissionMode: "acceptEdits"},
	}, "in", epoch)}
	resume := func() { a.do(func(s *state.Step) { s.Resume(nil) }) }
	a.do(func(s *state.Step) { s.Begin() })
	a.turn("main", goTo("C.md"), protocol.Spawn{State: "B.md", Next: "C.md"})
	a.start("main_b1")
	a.idle()
	resume()
	a.turn("main_b1", result("of b"))
	a.turn("main", call("D.md", "E.sh"))
	a.idle()
	resume()
	a.turn("main", result("of d"))
	a.turn("main", goTo("F.md"))
	a.start("main")
	a.do(func(s *state.Step) {
		s.End("main", stateOf("F.md"), state.Outcome{Cost: state.Cost{Kind: state.Exact, USD: state.Dollar}, Decision: protocol.Decision{Then: result("the end")}})
		s.Close(s.Closing(nil))
	})
	a.idle()
	a.evidence.Run = a.run
	a.evidence.Undisturbed = slices.Clone(a.evidence.Effects)
	a.evidence.Secrets, a.evidence.Sealed = []string{"plain"}, [][]byte{[]byte("hidden")}
	return a.evidence
}

// at returns the index in the log of the n-th event with a body of type B. n counts from 1.
func at[B state.Body](t *testing.T, ev *Evidence, n int) int {
	t.Helper()
	for i, e := range ev.Events {
		if _, ok := e.Body.(B); ok {
			if n--; n == 0 {
				return i
			}
		}
	}
	t.Fatalf("no such event: %T", *new(B))
	return 0
}

// without removes the event with index i from the log.
func without(ev *Evidence, i int) { ev.Events = slices.Delete(slices.Clone(ev.Events), i, i+1) }

// altered returns a copy of a run to which change has been applied.
func altered(t *testing.T, run *state.Run, change func(*state.Run)) *state.Run {
	t.Helper()
	data, err := run.Encode()
	assert.NilError(t, err)
	c, err := state.Decode(data)
	assert.NilError(t, err)
	change(c)
	return c
}

// forged lists changes to good evidence, each with the invariant that it violates. The id of harmless
// changes is empty.
var forged = []struct {
	id, what string
	forge    func(*testing.T, *Evidence)
}{
	{"", "nothing", func(*testing.T, *Evidence) {}},
	{"", "killed before the end was logged", func(_ *testing.T, ev *Evidence) { without(ev, len(ev.Events)-1) }},
	{"P-1", "a committed step ran again after a crash", func(_ *testing.T, ev *Evidence) { ev.Effects = append(ev.Effects, ev.Effects[0]) }},
	{"P-1", "the saved state is before a move of the log", func(t *testing.T, ev *Evidence) {
		ev.IdleMoments[1].Run = altered(t, ev.IdleMoments[1].Run, func(r *state.Run) { r.Agents[0].State = "C.md" })
	}},
	{"P-2", "a repeat without the event", func(t *testing.T, ev *Evidence) { without(ev, at[*state.AttemptInterrupted](t, ev, 1)) }},
	{"P-2", "two repeats for one crash", func(_ *testing.T, ev *Evidence) { ev.Effects = append(ev.Effects[:2:2], ev.Effects[1:]...) }},
	{"P-3", "a fork without its agent", func(t *testing.T, ev *Evidence) { without(ev, at[*state.AgentStarted](t, ev, 2)) }},
	{"P-3", "a saved run with another agent", func(t *testing.T, ev *Evidence) {
		ev.IdleMoments[0].Run = altered(t, ev.IdleMoments[0].Run, func(r *state.Run) { r.Agents[1].ID = "main_b2" })
	}},
	{"P-4", "a payload with another byte", func(_ *testing.T, ev *Evidence) {
		ev.Effects[4].Line = strings.Replace(ev.Effects[4].Line, "of the call", "of the cal\x00", 1)
	}},
	{"P-5", "a total that falls", func(t *testing.T, ev *Evidence) {
		ev.IdleMoments[1].Run = altered(t, ev.IdleMoments[1].Run, func(r *state.Run) {
			r.Ledger[1].CostUSD, r.Progress.TotalUSD = 9*state.Dollar, r.Progress.TotalUSD+9*state.Dollar
		})
	}},
	{"P-6", "a repeated generation", func(_ *testing.T, ev *Evidence) { ev.Checkpoints[2].Manifest.Generation = 2 }},
	{"P-6", "a restore of an older generation", func(_ *testing.T, ev *Evidence) { ev.Checkpoints[2].Manifest.Previous = ev.Checkpoints[0].Digest }},
	{"P-7", "a state that is gone", func(_ *testing.T, ev *Evidence) { ev.IdleMoments[1].Run = nil }},
	{"P-7", "a store without the newest", func(_ *testing.T, ev *Evidence) { ev.StoreListings[2].Present = []int{0, 1} }},
	{"P-8", "a saved state that is not valid", func(t *testing.T, ev *Evidence) {
		ev.IdleMoments[0].Run = altered(t, ev.IdleMoments[0].Run, func(r *state.Run) { r.Agents[1].N = 1 })
	}},
	{"P-9", "an end that was logged twice", func(_ *testing.T, ev *Evidence) {
		e := ev.Events[len(ev.Events)-1]
		e.Seq++
		ev.Events = append(ev.Events, e)
	}},
	{"P-9", "an end that was not logged", func(t *testing.T, ev *Evidence) {
		without(ev, len(ev.Events)-1)
		ev.Run = altered(t, ev.Run, func(r *state.Run) { r.Events = nil })
	}},
	{"P-10", "a process", func(_ *testing.T, ev *Evidence) { ev.Processes = []string{"7: sleep 300"} }},
	{"P-10", "a temporary file", func(_ *testing.T, ev *Evidence) { ev.TempFiles = []string{"w.json.tmp"} }},
	{"P-10", "a plain text in encrypted data", func(_ *testing.T, ev *Evidence) { ev.Sealed = append(ev.Sealed, []byte("it is plain to see")) }},
}

// TestForgedRunsAreDetected checks that Check reports the violated invariant for each entry of forged, and
// nothing for harmless changes.
func TestForgedRunsAreDetected(t *testing.T) {
	for _, c := range forged {
		ev := goodRun(t)
		c.forge(t, &ev)
		got := Check(ev)
		isNoticed := slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, c.id+":") })
		assert.Check(t, isNoticed || c.id == "" && got == nil, "%s: got %q, want a violation of %q", c.what, got, c.id)
	}
}

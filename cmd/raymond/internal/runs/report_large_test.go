package runs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/state"
)

// large is a run of many agents in a state folder, with transcripts as Claude Code writes them.
type large struct {
	t      testing.TB
	dir    string // what agents work in
	config string // of Claude Code
	size   int    // of a transcript, in bytes
	run    *state.Run
	now    time.Time
	log    bytes.Buffer
}

// newLarge writes a run whose first agent forks n others, and returns where its data are.
func newLarge(t testing.TB, n, size int) runs.Source {
	t.Helper()
	dir := t.TempDir()
	l := &large{t: t, dir: dir, config: filepath.Join(dir, "claude"), size: size, now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	l.run = state.New(state.Run{
		WorkflowID: "large", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: dir,
		Files:   map[string]string{"A.md": strings.Repeat("ab", 32), "W.md": strings.Repeat("ab", 32)},
		Options: state.Options{MaxParallel: 2 * n, MaxAgents: 2 * n, MaxDepth: 4, PermissionMode: "acceptEdits"},
	}, "", l.now)
	l.step(func(s *state.Step) { s.Begin() })
	spawns := make([]protocol.Spawn, n)
	for i := range spawns {
		spawns[i] = protocol.Spawn{State: "W.md", Next: "A.md", Vars: map[string]string{"item": fmt.Sprint(i)}}
	}
	l.start()
	l.end(protocol.Decision{Spawns: spawns, Then: protocol.Move{Verb: protocol.Goto, To: "A.md"}})
	l.start()
	l.end(protocol.Decision{Then: protocol.Move{Verb: protocol.Result, Text: "done"}})
	l.step(func(s *state.Step) { s.Close(s.Closing(nil)) })
	return l.save()
}

func (l *large) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *large) step(decide func(*state.Step)) {
	l.now = l.now.Add(time.Second)
	s := l.run.Step(l.now)
	decide(s)
	l.run = l.run.With(s.Delta())
	for _, e := range l.run.Events {
		line, err := e.Line(l.run.WorkflowID)
		l.must(err)
		l.log.Write(line)
	}
}

// start starts all agents that can, in a step each.
func (l *large) start() {
	isReady := true
	for isReady {
		l.step(func(s *state.Step) {
			var a *state.Agent
			if a, isReady = s.Next(0); !isReady {
				return
			}
			st := &protocol.State{Name: a.State, Kind: protocol.Prompt}
			session := fmt.Sprintf("%08x-0000-4000-8000-000000000000", l.run.Progress.Launches)
			plan := a.Plan(st, state.CLI{Name: protocol.BackendClaude, ChoosesID: true})
			if plan.Session != nil {
				session = plan.Session.ID
			}
			s.Start(a.ID, state.Launch{State: st, Plan: plan, SessionID: session, Cwd: l.dir})
			l.talk(session)
		})
	}
}

// end ends all agents with the same decision, in a step each.
func (l *large) end(d protocol.Decision) {
	for _, a := range l.run.Agents {
		if a.Status != state.Busy {
			continue
		}
		l.step(func(s *state.Step) {
			cost := state.ModelCost{Usage: state.Usage{Model: "claude-opus-5", Input: 1000, Output: 100}, CostUSD: state.Dollar / 100}
			s.End(a.ID, &protocol.State{Name: a.State, Kind: protocol.Prompt}, state.Outcome{
				Session: a.Exec.Running.SessionID, Decision: d, Process: state.Process{CLI: "2.1.330 /usr/bin/claude"},
				Cost: state.Cost{Kind: state.Exact, USD: cost.CostUSD, Usage: []state.ModelCost{cost}},
			})
		})
	}
}

// talk writes about as much into a transcript as agents say.
func (l *large) talk(session string) {
	home, err := filepath.EvalSymlinks(l.dir)
	l.must(err)
	folder := filepath.Join(l.config, "projects", regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(home, "-"))
	l.must(os.MkdirAll(folder, 0o700))
	var b bytes.Buffer
	line := func(kind string, content any) {
		data, err := json.Marshal(map[string]any{
			"parentUuid": "6f1c1f7e-0000-4000-8000-000000000000", "isSidechain": false, "userType": "external", "cwd": l.dir, "sessionId": session,
			"version": "2.1.330", "gitBranch": "main", "type": kind, "timestamp": l.now.Format(time.RFC3339Nano), "uuid": fmt.Sprint(session, "-", b.Len()),
			"message": map[string]any{"role": kind, "model": "claude-opus-5", "content": content},
		})
		l.must(err)
		b.Write(append(data, '\n'))
	}
	line("user", "Find what is wrong in the item, and repair it.\n")
	output := strings.Repeat("--- PASS: TestThatThingsAre<Escaped> & \"quoted\" (0.01s)\n", 60)
	for i := 0; b.Len() < l.size; i++ {
		id := fmt.Sprint("toolu_", i)
		line("assistant", []any{
			map[string]any{"type": "text", "text": strings.Repeat("I look at the next test that fails. ", 8)},
			map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": map[string]any{"command": "go test ./... -run " + id}},
		})
		line("user", []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": output}})
	}
	line("assistant", []any{map[string]any{"type": "text", "text": "<result>done</result>"}})
	f, err := os.OpenFile(filepath.Join(folder, session+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	l.must(err)
	_, err = f.Write(b.Bytes())
	l.must(err)
	l.must(f.Close())
}

// save writes the state file and the log.
func (l *large) save() runs.Source {
	folder := filepath.Join(l.dir, "state")
	l.must(os.MkdirAll(filepath.Join(folder, l.run.WorkflowID), 0o700))
	l.must(os.WriteFile(filepath.Join(folder, l.run.WorkflowID, "events.jsonl"), l.log.Bytes(), 0o600))
	f, err := state.Create(folder, l.run.WorkflowID, "test")
	l.must(err)
	l.must(f.Fold(l.run, nil, nil))
	l.must(f.Close())
	return runs.Source{StateDir: folder, Run: l.run, Agents: agents.New(agents.Config{Env: []string{"CLAUDE_CONFIG_DIR=" + l.config}})}
}

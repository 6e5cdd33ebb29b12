//go:build linux

package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

const secret = "sesame-open-12345"

// pastRun is a run that has executed some states, each in its own conversation.
type pastRun struct {
	t         *testing.T
	dir       string // of the run's files
	file      *journal.File
	run       *state.Run
	now       time.Time
	integrity fakeIntegrity
}

// conversationOf returns the session of the n-th state.
func conversationOf(n int) string { return fmt.Sprintf("0a0b0c0d-0000-4000-8000-%012d", n) }

// newPastRun creates a run that has executed five states. Its snapshot is written after the third.
func newPastRun(t *testing.T, hasIntegrityLog bool) *pastRun {
	t.Helper()
	root := t.TempDir()
	p := &pastRun{t: t, dir: filepath.Join(root, "k-12345678"), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), integrity: fakeIntegrity{}}
	var err error
	p.file, err = journal.Create(root, "k-12345678", "me")
	assert.NilError(t, err)
	t.Cleanup(func() { p.file.Close() })
	if hasIntegrityLog {
		p.file.SetIntegrityLog(p.integrity)
	}
	p.begin("/w")
	for n := 1; n <= 5; n++ {
		p.execute(n, n == 3)
	}
	return p
}

// begin creates the run, which works in dir.
func (p *pastRun) begin(dir string) {
	p.run = state.New(state.Run{
		WorkflowID: filepath.Base(p.dir), Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: dir,
		Files: map[string]string{"A.md": strings.Repeat("ab", 32)}, Options: state.Options{MaxParallel: 1, MaxAgents: 1, MaxDepth: 1},
	}, secret, p.now)
	p.take(true, func(s *state.Step) { s.Begin() })
}

// execute executes the n-th state of the run. With folds, its start is saved as a snapshot.
func (p *pastRun) execute(n int, folds bool) {
	st := &protocol.State{Name: "A.md", Kind: protocol.Prompt}
	p.take(folds, func(s *state.Step) {
		s.Start("main", state.Launch{State: st, Plan: state.Plan{Mode: state.Fresh, Backend: protocol.BackendClaude}, SessionID: conversationOf(n), Cwd: p.run.Dir})
	})
	p.take(false, func(s *state.Step) {
		s.End("main", st, state.Outcome{
			Session: conversationOf(n), Cost: state.Cost{Kind: state.Exact, USD: 1000},
			Decision: protocol.Decision{Then: protocol.Move{Verb: protocol.Goto, To: "A.md", Input: secret}},
		})
	})
}

func (p *pastRun) take(folds bool, f func(*state.Step)) {
	p.t.Helper()
	step := p.run.Step(p.now)
	f(step)
	d := step.Delta()
	p.run = p.run.With(d)
	save := func() error { return p.file.Append(d) }
	if folds {
		save = func() error { return p.file.WriteSnapshot(p.run, d, nil) }
	}
	assert.NilError(p.t, save())
}

// store makes a checkpoint of the run, after calling between. It returns its manifest, the directory
// of its files and the notes.
func (p *pastRun) store(between func()) (checkpoint.Manifest, string, []string) {
	p.t.Helper()
	w, log := testWriter(p.t, nil)
	log.mask, _ = secrets.New(map[string]string{"TOKEN": secret})
	path := filepath.Join(w.dir, "conversation")
	write(p.t, path, "said")
	agents := map[string]runner.AgentCLI{protocol.BackendClaude: fakeCLI{paths: map[string]string{"": path}}}
	shot, err := takeSnapshot(p.run, manifest(origin, RunStart{}, p.run), p.dir, agents, p.integrity)
	assert.NilError(p.t, err)
	between()
	b, err := w.build(p.t.Context(), shot)
	assert.NilError(p.t, err)
	m, dir := unpack(p.t, b)
	return m, dir, b.notes
}

// TestCheckpointHasTheHistory checks that a checkpoint contains the history of the run, without
// secrets, and the conversations of its steps.
func TestCheckpointHasTheHistory(t *testing.T) {
	t.Parallel()
	p := newPastRun(t, false)
	m, dir, _ := p.store(func() {})
	data, err := os.ReadFile(filepath.Join(dir, "state.history"))
	if err != nil || bytes.Contains(data, []byte(secret)) || !bytes.Contains(data, bytes.Repeat([]byte("*"), len(secret))) {
		t.Errorf("the history has the secret, or nothing in its place (%v)", err)
	}
	var sessions []string
	for _, one := range m.Transcripts {
		sessions = append(sessions, one.Session)
	}
	assert.Check(t, is.DeepEqual(sessions, []string{conversationOf(5), conversationOf(4), conversationOf(3), conversationOf(2), conversationOf(1)}), "conversations")
}

// TestAlteredHistoryIsNotStored checks that a checkpoint does not contain a history that differs
// from the integrity log.
func TestAlteredHistoryIsNotStored(t *testing.T) {
	t.Parallel()
	p := newPastRun(t, true)
	_, _, notes := p.store(func() {})
	assert.Assert(t, is.Len(notes, 0), "unaltered")
	_, dir, notes := p.store(func() {
		file := p.dir + ".journal"
		data, err := os.ReadFile(file)
		assert.NilError(t, err)
		write(t, file, strings.Replace(string(data), `"tag":"goto"`, `"tag":"GOTO"`, 1))
	})
	_, err := os.Stat(filepath.Join(dir, "state.history"))
	assert.Check(t, is.ErrorIs(err, os.ErrNotExist))
	assert.Assert(t, is.Len(notes, 1))
	assert.Check(t, is.Contains(notes[0], "lacks the history"))
}

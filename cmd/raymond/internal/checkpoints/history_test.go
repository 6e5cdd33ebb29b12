//go:build linux

package checkpoints

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

// past is a run that has executed some states, each in its own conversation.
type past struct {
	t    *testing.T
	dir  string // of the run's files
	file *journal.File
	run  *state.Run
	now  time.Time
}

func talkOf(n int) string { return fmt.Sprintf("0a0b0c0d-0000-4000-8000-%012d", n) }

// newPast creates a run that has executed the given number of states. Its snapshot is written after
// the third.
func newPast(t *testing.T, seals *Seals, root string, states int) *past {
	t.Helper()
	p := &past{t: t, dir: filepath.Join(root, "k-12345678"), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var err error
	p.file, err = journal.Create(root, "k-12345678", "me")
	assert.NilError(t, err)
	t.Cleanup(func() { p.file.Close() })
	if seals != nil {
		p.file.SetIntegrityLog(seals)
	}
	p.run = state.New(state.Run{
		WorkflowID: "k-12345678", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/w",
		Files: map[string]string{"A.md": strings.Repeat("ab", 32)}, Options: state.Options{MaxParallel: 1, MaxAgents: 1, MaxDepth: 1},
	}, secret, p.now)
	p.take(true, func(s *state.Step) { s.Begin() })
	st := &protocol.State{Name: "A.md", Kind: protocol.Prompt}
	for n := 1; n <= states; n++ {
		p.take(n == 3, func(s *state.Step) {
			s.Start("main", state.Launch{State: st, Plan: state.Plan{Mode: state.Fresh, Backend: protocol.BackendClaude}, SessionID: talkOf(n), Cwd: "/w"})
		})
		p.take(false, func(s *state.Step) {
			s.End("main", st, state.Outcome{Session: talkOf(n), Decision: protocol.Decision{Then: protocol.Move{Verb: protocol.Goto, To: "A.md", Input: secret}}})
		})
	}
	return p
}

func (p *past) take(folds bool, f func(*state.Step)) {
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

// stored makes a checkpoint of the run, after calling between. It returns its manifest, the
// directory of its files and the notes.
func (p *past) stored(seals *Seals, between func()) (checkpoint.Manifest, string, []string) {
	p.t.Helper()
	o, _ := lean(p.t)
	o.Dir = p.dir
	o.Mask, _ = secrets.New(map[string]string{"TOKEN": secret})
	agents := map[string]runner.AgentCLI{protocol.BackendClaude: keeping{paths: map[string]string{"": filepath.Join(o.Temp, "talk")}}}
	write(p.t, filepath.Join(o.Temp, "talk"), "said")
	shot, err := Take(p.run, p.dir, agents, seals)
	assert.NilError(p.t, err)
	between()
	w, err := New(o).write(p.t.Context(), shot)
	assert.NilError(p.t, err)
	m, dir := unpack(p.t, w)
	return m, dir, w.notes
}

// steps returns the steps of the run that a later job finds in the files of a checkpoint.
func steps(t *testing.T, from string) []int {
	t.Helper()
	for name, as := range map[string]string{"state.json": "k-12345678.json", "state.history": "k-12345678.journal"} {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(from, as)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	var list []int
	for step, err := range journal.History(from, "k-12345678") {
		assert.NilError(t, err)
		list = append(list, step.After().Progress.Seq)
	}
	return list
}

// TestCheckpointHasTheHistory checks that a checkpoint contains all steps up to its own, without
// secrets, and the conversations of these steps.
func TestCheckpointHasTheHistory(t *testing.T) {
	t.Parallel()
	p := newPast(t, nil, t.TempDir(), 5)
	m, dir, _ := p.stored(nil, func() {
		p.take(true, func(*state.Step) {})
	})
	data, err := os.ReadFile(filepath.Join(dir, "state.history"))
	if err != nil || bytes.Contains(data, []byte(secret)) || !bytes.Contains(data, bytes.Repeat([]byte("*"), len(secret))) {
		t.Errorf("the history has the secret, or nothing in its place (%v)", err)
	}
	got, want := steps(t, dir), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	assert.Check(t, is.DeepEqual(got, want), "steps")
	var talks []string
	for _, one := range m.Transcripts {
		talks = append(talks, one.Session)
	}
	assert.Check(t, is.DeepEqual(talks, []string{talkOf(5), talkOf(4), talkOf(3), talkOf(2), talkOf(1)}), "conversations")
}

// TestAlteredHistoryIsNotStored checks that a checkpoint does not contain a history that differs
// from the integrity log.
func TestAlteredHistoryIsNotStored(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	seals := newSeals(t, root)
	p := newPast(t, seals, root, 5)
	_, _, notes := p.stored(seals, func() {})
	assert.Assert(t, is.Len(notes, 0), "unaltered")
	_, dir, notes := p.stored(seals, func() {
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

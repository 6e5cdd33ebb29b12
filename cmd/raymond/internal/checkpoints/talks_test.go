//go:build linux

package checkpoints

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// ids are the sessions of these tests.
var ids = []string{
	"11111111-2222-4333-8444-555555555550", "11111111-2222-4333-8444-555555555551", "11111111-2222-4333-8444-555555555552",
}

// said is the content of a conversation.
const said = `{"type":"user","message":{"role":"user","content":"Hello"}}` + "\n"

// home returns agent CLIs with a conversation for each of the ids, and the paths of these
// conversations.
func home(t *testing.T) (map[string]runner.AgentCLI, []string) {
	t.Helper()
	config := t.TempDir()
	var paths []string
	for _, id := range ids {
		path := filepath.Join(config, "projects", "work", id+".jsonl")
		write(t, path, said)
		paths = append(paths, path)
	}
	return clis.New(clis.Config{Env: []string{"CLAUDE_CONFIG_DIR=" + config}}), paths
}

// prompted is a backend that calls a function for each prompt.
type prompted func(tell func(runner.Progress))

func (p prompted) Run(_ context.Context, _ runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	p(tell)
	return runner.Answer{}, nil
}

// TestConversationsAreRecordedBeforeTheFirstPrompt checks that each conversation is recorded once,
// before its first prompt, and a restored one with its content.
func TestConversationsAreRecordedBeforeTheFirstPrompt(t *testing.T) {
	clis, paths := home(t)
	file := filepath.Join(t.TempDir(), "sessions.note")
	if own, err := ReadTalks(file); own != nil || err != nil {
		t.Errorf("before there is a file: got %v, %v; want nothing", own, err)
	}
	n := NewTalks(file, nil)
	n.AddPlaced(clis[protocol.BackendClaude], runner.Conversation{ID: ids[0], Dir: t.TempDir()})
	placed, err := transcripts.FingerprintOf(paths[0])
	assert.NilError(t, err)
	want := []Own{{ID: ids[0], Backend: protocol.BackendClaude, Placed: &placed}}
	told := 0
	b := n.Wrap(prompted(func(func(runner.Progress)) {
		told++
		if own, err := ReadTalks(file); err != nil || !reflect.DeepEqual(own, want) {
			t.Errorf("at prompt %d: got %v, %v; want %v", told, own, err, want)
		}
	}))
	for _, o := range []runner.PromptOrder{
		{SessionID: ids[0], Session: state.Resume},
		{SessionID: ids[1], Session: state.Fresh},
		{SessionID: ids[1], Session: state.Resume},
		{SessionID: ids[1], Session: state.Fresh},
		{SessionID: ids[2], Session: state.Branch, From: ids[1]},
		{},
	} {
		if o.SessionID != "" && len(want) < 3 && o.SessionID != want[len(want)-1].ID {
			want = append(want, Own{ID: o.SessionID})
		}
		_, err := b.Run(t.Context(), runner.Order{Prompt: o}, nil)
		assert.NilError(t, err)
	}
	assert.Check(t, is.Equal(told, 6), "prompts")
}

// TestCLIIDsAreRecorded checks that the CLI's own id of a conversation is recorded as soon as the
// CLI reports it, because the post phase needs it to remove the conversation.
func TestCLIIDsAreRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.note")
	want := func(when string, want ...Own) {
		t.Helper()
		if own, err := ReadTalks(file); err != nil || !reflect.DeepEqual(own, want) {
			t.Errorf("%s: got %v, %v; want %v", when, own, err, want)
		}
	}
	first, second := Own{ID: ids[0], Backend: protocol.BackendCodex}, Own{ID: ids[1], Backend: protocol.BackendCodex, CLIID: "thread-2"}
	told := first
	told.CLIID = "thread-1"
	b := NewTalks(file, nil).Wrap(prompted(func(tell func(runner.Progress)) {
		want("before it has told one", first)
		tell(runner.Progress{CLIID: "thread-1"})
		want("when it has told one", told)
	}))
	order := runner.PromptOrder{SessionID: ids[0], Session: state.Fresh, Backend: protocol.BackendCodex}
	_, err := b.Run(t.Context(), runner.Order{Prompt: order}, func(runner.Progress) {})
	assert.Check(t, err)
	NewTalks(file, nil).add(second)
	want("after another one", told, second)
	cleared := map[string]string{}
	agent := clearing{cleared: cleared}
	failed := ClearTalks(map[string]runner.AgentCLI{protocol.BackendCodex: agent}, []Own{told, {ID: ids[2]}}, Chain{}, true)
	assert.Check(t, is.DeepEqual(failed, ids[2:]), "failed")
	assert.Check(t, is.DeepEqual(cleared, map[string]string{ids[0]: "thread-1"}), "cleared")
}

// clearing is an agent CLI that records the conversations that it removes.
type clearing struct {
	runner.AgentCLI
	cleared map[string]string
}

func (c clearing) Clear(k runner.Conversation, _ *runner.Fingerprint) error {
	c.cleared[k.ID] = k.CLI
	return nil
}

// TestClearTalks checks that conversations that the run needs are removed only if they are stored,
// and others if the step has created them.
func TestClearTalks(t *testing.T) {
	const later = said + said
	for name, c := range map[string]struct {
		isKept, isUnstored bool
		placed             bool   // the conversations were restored and are unchanged
		lacks              bool   // the run does not need the conversations
		speak              string // the later content of the files; "" if they don't change
		stays              bool
	}{
		"stored":                                  {isKept: true},
		"stored, and spoken in since":             {isKept: true, speak: later, stays: true},
		"could not be stored":                     {stays: true},
		"no longer needed":                        {lacks: true, speak: later},
		"put back, and no longer needed":          {lacks: true, placed: true, speak: later},
		"never to be stored":                      {isUnstored: true, speak: later},
		"put back, never to be stored":            {isUnstored: true, placed: true},
		"put back, spoken in, never to be stored": {isUnstored: true, placed: true, speak: later, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			clis, paths := home(t)
			var own []Own
			var parts []checkpoint.Entry
			for i, id := range ids[:2] {
				mark, err := transcripts.FingerprintOf(paths[i])
				assert.NilError(t, err)
				own = append(own, Own{ID: id})
				if c.placed {
					own[i].Placed = &mark
				}
				parts = append(parts, checkpoint.Entry{Name: checkpoint.Transcript{Backend: protocol.BackendClaude, Session: id}.Name(), Path: paths[i], Size: mark.Size})
			}
			left := leftBehind(parts, c.isKept)
			if c.lacks {
				left = nil
			}
			if c.speak != "" {
				write(t, paths[0], c.speak)
				write(t, paths[1], c.speak)
			}
			assert.Check(t, is.Len(ClearTalks(clis, own, Chain{Sessions: left}, c.isUnstored), 0), "failed for")
			for i, path := range paths {
				_, err := os.Lstat(path)
				assert.Check(t, is.Equal(err == nil, c.stays || i == 2), "conversation %d: it stays", i)
			}
		})
	}
	assert.Check(t, is.DeepEqual(ClearTalks(clis.New(clis.Config{}), []Own{{ID: "../x"}}, Chain{}, true), []string{"../x"}), "what is no session: want it among what failed")
}

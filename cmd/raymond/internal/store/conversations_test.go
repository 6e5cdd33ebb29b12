//go:build linux

package store

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

// withConversations returns agent CLIs with a conversation for each of the ids, and the paths of
// these conversations.
func withConversations(t *testing.T) (map[string]runner.AgentCLI, []string) {
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

// onPrompt is a backend that calls a function for each prompt.
type onPrompt func(tell func(runner.Progress))

func (p onPrompt) Run(_ context.Context, _ runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	p(tell)
	return runner.Answer{}, nil
}

// TestConversationsAreRecordedBeforeTheFirstPrompt checks that each conversation is recorded once,
// before its first prompt, and a restored one with its content.
func TestConversationsAreRecordedBeforeTheFirstPrompt(t *testing.T) {
	clis, paths := withConversations(t)
	file := filepath.Join(t.TempDir(), "sessions.note")
	if own, err := ReadConversations(file); own != nil || err != nil {
		t.Errorf("before there is a file: got %v, %v; want nothing", own, err)
	}
	n := NewConversationLog(file, fakeIntegrity{})
	n.AddPlaced(clis[protocol.BackendClaude], runner.Conversation{ID: ids[0], Dir: t.TempDir()})
	placed, err := transcripts.FingerprintOf(paths[0])
	assert.NilError(t, err)
	want := []Conversation{{ID: ids[0], Backend: protocol.BackendClaude, Placed: &placed}}
	prompts := 0
	b := n.Wrap(onPrompt(func(func(runner.Progress)) {
		prompts++
		if own, err := ReadConversations(file); err != nil || !reflect.DeepEqual(own, want) {
			t.Errorf("at prompt %d: got %v, %v; want %v", prompts, own, err, want)
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
			want = append(want, Conversation{ID: o.SessionID})
		}
		_, err := b.Run(t.Context(), runner.Order{Prompt: o}, nil)
		assert.NilError(t, err)
	}
	assert.Check(t, is.Equal(prompts, 6), "prompts")
}

// TestCLIIDsAreRecorded checks that the CLI's own id of a conversation is recorded as soon as the
// CLI reports it, because the post phase needs it to remove the conversation.
func TestCLIIDsAreRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.note")
	want := func(when string, want ...Conversation) {
		t.Helper()
		if own, err := ReadConversations(file); err != nil || !reflect.DeepEqual(own, want) {
			t.Errorf("%s: got %v, %v; want %v", when, own, err, want)
		}
	}
	first, second := Conversation{ID: ids[0], Backend: protocol.BackendCodex}, Conversation{ID: ids[1], Backend: protocol.BackendCodex, CLIID: "thread-2"}
	reported := first
	reported.CLIID = "thread-1"
	b := NewConversationLog(file, fakeIntegrity{}).Wrap(onPrompt(func(tell func(runner.Progress)) {
		want("before the CLI reports one", first)
		tell(runner.Progress{CLIID: "thread-1"})
		want("after the CLI has reported one", reported)
	}))
	order := runner.PromptOrder{SessionID: ids[0], Session: state.Fresh, Backend: protocol.BackendCodex}
	_, err := b.Run(t.Context(), runner.Order{Prompt: order}, func(runner.Progress) {})
	assert.Check(t, err)
	NewConversationLog(file, fakeIntegrity{}).add(second)
	want("after another one", reported, second)
	cleared := map[string]string{}
	agent := clearingCLI{cleared: cleared}
	failed := clearConversations(map[string]runner.AgentCLI{protocol.BackendCodex: agent}, []Conversation{reported, {ID: ids[2]}}, chain{}, true)
	assert.Check(t, is.DeepEqual(failed, ids[2:]), "failed")
	assert.Check(t, is.DeepEqual(cleared, map[string]string{ids[0]: "thread-1"}), "cleared")
}

// clearingCLI is an agent CLI that records the conversations that it removes.
type clearingCLI struct {
	runner.AgentCLI
	cleared map[string]string
}

func (c clearingCLI) Clear(k runner.Conversation, _ *runner.Fingerprint) error {
	c.cleared[k.ID] = k.CLI
	return nil
}

// TestConversationsAreRemovedOnceStored checks that conversations that the run needs are removed only
// if they are stored, and others if the step has created them.
func TestConversationsAreRemovedOnceStored(t *testing.T) {
	const later = said + said
	for name, c := range map[string]struct {
		isKept, isUnstored bool
		isRestored         bool   // the conversations were restored
		isNotNeeded        bool   // the run does not need the conversations
		change             string // the later content of the files; "" if they don't change
		stays              bool
	}{
		"stored":                                {isKept: true},
		"stored, and changed since":             {isKept: true, change: later, stays: true},
		"could not be stored":                   {stays: true},
		"no longer needed":                      {isNotNeeded: true, change: later},
		"restored, and no longer needed":        {isNotNeeded: true, isRestored: true, change: later},
		"never to be stored":                    {isUnstored: true, change: later},
		"restored, never to be stored":          {isUnstored: true, isRestored: true},
		"restored, changed, never to be stored": {isUnstored: true, isRestored: true, change: later, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			clis, paths := withConversations(t)
			var own []Conversation
			var parts []checkpoint.Entry
			for i, id := range ids[:2] {
				mark, err := transcripts.FingerprintOf(paths[i])
				assert.NilError(t, err)
				own = append(own, Conversation{ID: id})
				if c.isRestored {
					own[i].Placed = &mark
				}
				parts = append(parts, checkpoint.Entry{Name: checkpoint.Transcript{Backend: protocol.BackendClaude, Session: id}.Name(), Path: paths[i], Size: mark.Size})
			}
			needed := remainingOf(parts, c.isKept)
			if c.isNotNeeded {
				needed = nil
			}
			if c.change != "" {
				write(t, paths[0], c.change)
				write(t, paths[1], c.change)
			}
			assert.Check(t, is.Len(clearConversations(clis, own, chain{Sessions: needed}, c.isUnstored), 0), "failed for")
			for i, path := range paths {
				_, err := os.Lstat(path)
				assert.Check(t, is.Equal(err == nil, c.stays || i == 2), "conversation %d: it stays", i)
			}
		})
	}
	assert.Check(t, is.DeepEqual(clearConversations(clis.New(clis.Config{}), []Conversation{{ID: "../x"}}, chain{}, true), []string{"../x"}), "not a session")
}

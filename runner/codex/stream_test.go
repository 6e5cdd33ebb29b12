package codex

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// recordedThread is the id of the thread in the recordings.
const recordedThread = "01a20496-9575-7df3-99d5-ad94698ff8ca"

// TestRecordedStreams checks the results for recorded output of the real CLI, with its rollouts.
func TestRecordedStreams(t *testing.T) { clitest.Replay(t, play) }

func play(t *testing.T, c clitest.Recording) clitest.Result {
	t.Helper()
	home := t.TempDir()
	b := &Backend{CLI: program.CLI{Env: []string{"CODEX_HOME=" + home}}}
	path := filepath.Join(home, "sessions", "2026", "11", "24", "rollout-2026-11-24T04-34-25-"+recordedThread+".jsonl")
	if len(c.After) > 0 {
		write(t, path, string(c.Before))
	}
	o := runner.Order{Dir: home, Prompt: runner.PromptOrder{Session: c.Mode, SessionID: "ours", From: recordedThread}}
	if c.Mode == state.Resume {
		o.Prompt.CLIID = recordedThread
	}
	taken, fail := b.prepare(o)
	assert.Assert(t, is.Nil(fail))
	s := newStream(o, taken, nil)
	_, _ = s.Write(c.Stdout)
	s.Flush()
	if len(c.After) > 0 {
		write(t, path, string(c.Before)+string(c.After))
	}
	var got clitest.Result
	got.Answer, got.Failure = s.answer(c.Exit)
	b.addCost(&got.Answer, s)
	b.addRefusals(&got.Answer, s)
	if len(c.After) == 0 {
		return got
	}
	err := b.Transcripts().Read(runner.Conversation{CLI: recordedThread}, taken.start, -1, func(m runner.Message) error {
		got.Messages = append(got.Messages, m)
		return nil
	})
	assert.Check(t, err)
	return got
}

func write(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestThreadIDIsReportedAtOnce checks that the id of the thread is reported before the model
// answers. An unexpected or invalid id must make the invocation fail.
func TestThreadIDIsReportedAtOnce(t *testing.T) {
	const other = "5e0c1c8e-6d9a-4b57-9d27-0f3a2b1c4d5e"
	for _, c := range []struct {
		taken    turn
		reported string
		ok       bool
	}{
		{turn{}, recordedThread, true},
		{turn{resumed: recordedThread}, recordedThread, true},
		{turn{resumed: recordedThread}, other, false},
		{turn{}, "../../x", false},
	} {
		reported := ""
		s := newStream(runner.Order{Verbosity: runner.VerbosityFull}, c.taken, func(p runner.Progress) { reported += p.CLIID })
		_, _ = s.Write([]byte(`{"type":"thread.started","thread_id":"` + c.reported + `"}` + "\n"))
		assert.Check(t, (s.EarlyFailure == nil) == c.ok && (!c.ok || reported == c.reported), "%+v, %s: reported %q, failure %v, want it taken: %v", c.taken, c.reported, reported, s.EarlyFailure, c.ok)
	}
}

// FuzzStream checks that no output of a CLI causes a panic, and that every failure has a message.
func FuzzStream(f *testing.F) {
	f.Add([]byte(`{"type":"thread.started","thread_id":"x"}` + "\n" + `{"type":"turn.failed","error":{"message":"{"}}`))
	f.Fuzz(func(t *testing.T, output []byte) {
		s := newStream(runner.Order{Verbosity: runner.VerbosityFull}, turn{}, nil)
		_, _ = s.Write(output)
		s.Flush()
		_, fail := s.answer(clitest.Recording{}.Exit)
		assert.Check(t, fail == nil || fail.Message != "", "%q: got a failure without a reason", output)
	})
}

// TestUsageLimitReset checks which time is found in the CLI's message about a usage limit.
func TestUsageLimitReset(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 11, 22, 21, 0, 0, 0, zone)
	for words, want := range map[string]time.Time{
		"or try again at 9:40 PM.":                   time.Date(2026, 11, 22, 21, 41, 0, 0, zone),
		"or try again at 1:05 AM.":                   time.Date(2026, 11, 23, 1, 6, 0, 0, zone),
		"or try again at Nov 25th, 2026 12:00 AM.":   time.Date(2026, 11, 25, 0, 1, 0, 0, zone),
		"or try again at Dec 1st, 2026 12:25 PM.":    time.Date(2026, 12, 1, 12, 26, 0, 0, zone),
		"or try again later.":                        {},
		"or try again at Foo 99th, 2026 12:00 AM.":   {},
		"You've hit your limit. Visit https://x.y/z": {},
	} {
		got := resetOf(words, now)
		assert.Check(t, got.Equal(want), "%s: got %s, want %s", words, got, want)
	}
}

// TestHangAfterTurnIsEnded checks that a CLI that hangs after its turn is ended, and that the
// result of the turn is used.
func TestHangAfterTurnIsEnded(t *testing.T) {
	const begin = `{"type":"thread.started","thread_id":"` + recordedThread + `"}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"hello"}}` + "\n"
	for _, c := range []struct{ end, fail string }{
		{`{"type":"turn.completed","usage":{"input_tokens":1}}`, ""},
		{`{"type":"turn.failed","error":{"message":"unexpected status 400 Bad Request"}}`, "unexpected status 400"},
	} {
		home := t.TempDir()
		path := filepath.Join(home, "codex")
		installtest.WriteProgram(t, path, "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'codex-cli 0.169.0'; exit; }\ncat >/dev/null\ncat <<'E'\n"+begin+c.end+"\nE\nexec sleep 100000\n")
		b := &Backend{CLI: program.CLI{Path: path, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home, keyVar + "=x"}, ResultGrace: 50 * time.Millisecond}}
		a, err := b.Run(t.Context(), runner.Order{Dir: home, Mark: rand.Text(), Prompt: runner.PromptOrder{Text: "hi", SessionID: "ours"}}, func(runner.Progress) {})
		assert.Check(t, is.Equal(a.Text, "hello"), "%s", c.end)
		if c.fail == "" {
			assert.Check(t, err, "%s", c.end)
		} else {
			assert.Check(t, is.ErrorContains(err, c.fail))
		}
	}
}

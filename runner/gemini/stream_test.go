package gemini

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// TestRecordedStreams checks the results for recorded output of the real CLI, with its transcripts.
func TestRecordedStreams(t *testing.T) { clitest.Replay(t, play) }

func play(t *testing.T, c clitest.Recording) clitest.Result {
	t.Helper()
	const id = "11111111-1111-4111-8111-111111111111"
	b, dir := &Backend{CLI: program.CLI{Env: []string{"HOME=" + t.TempDir(), "USERPROFILE=" + t.TempDir()}}}, t.TempDir()
	folder := b.home().cliPath(chatsDir(dir))
	assert.NilError(t, os.MkdirAll(filepath.Join(folder, id), 0o700))
	for name, text := range c.Beside {
		assert.NilError(t, os.WriteFile(filepath.Join(folder, id, name), text, 0o600))
	}
	o := runner.Order{Dir: dir, Prompt: runner.PromptOrder{Session: c.Mode, SessionID: id}}
	if len(c.After) > 0 {
		assert.NilError(t, os.WriteFile(filepath.Join(folder, "session-2000-01-01T00-00-"+id[:8]+".jsonl"), c.After, 0o600))
	}
	s := newStream(o, nil)
	_, _ = s.Write(c.Stdout)
	s.Flush()
	var got clitest.Result
	got.Answer, got.Failure = s.final(c.Exit)
	if got.Failure != nil {
		got.Failure.Reset = time.Time{} // depends on the current time
	}
	err := b.Transcripts().Read(runner.Conversation{ID: id, Dir: dir}, 0, -1, func(m runner.Message) error {
		got.Messages = append(got.Messages, m)
		return nil
	})
	assert.Check(t, err == nil || len(c.After) == 0, err)
	return got
}

// FuzzStream checks that no output of a CLI causes a panic or makes the reader exceed its limits.
func FuzzStream(f *testing.F) {
	f.Add([]byte(`{"type":"init","session_id":"s"}` + "\n" + `{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"code\":1}}]"}}`))
	f.Fuzz(func(_ *testing.T, output []byte) {
		s := newStream(runner.Order{Verbosity: runner.VerbosityFull}, nil)
		_, _ = s.Write(output)
		s.Flush()
		_, _ = s.final(proc.Exit{Code: 145})
	})
}

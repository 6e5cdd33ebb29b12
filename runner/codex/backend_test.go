package codex

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

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

package codex

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	ct "github.com/raymond-action/raymond-action/runner/codex/codextest"
)

// TestCaged: in a cage, in which the CLI's own sandbox can't be made, an agent works, and one
// that may only read writes nothing. Its configuration is out of reach.
func TestCaged(t *testing.T) {
	t.Parallel()
	const config = "touch ~/.codex/config.toml; touch ~/.codex/sessions/x; "
	s := ct.NewServer(t, model("shell", agenttest.Reply{Shell: config + "echo $PWD > by-shell; git init -q . ; git status --short"},
		"write", agenttest.Reply{Write: "by-patch"}))
	b := started(t, s)
	home := value(b.Env, "HOME")
	for _, mode := range []string{"acceptEdits", "plan"} {
		for _, prompt := range []string{"shell", "write"} {
			o := order(t, prompt)
			o.Prompt.Permissions.PermissionMode = mode
			b.Furnish()
			needs := b.Needs()
			o.Prompt.Cage = cage.New(cage.Policy{
				Writable: append(needs.Write, o.Dir, value(b.Env, "TMPDIR"), os.DevNull), Network: cage.Network{IsOpen: true},
			})
			a := answer(t, b, o)
			for _, name := range []string{"by-shell", "by-patch"} {
				_, err := os.Stat(filepath.Join(o.Dir, name))
				want := mode == "acceptEdits" && strings.HasSuffix(name, map[string]string{"shell": "shell", "write": "patch"}[prompt])
				if (err == nil) != want {
					t.Errorf("%s, %s: file %s: got %v, want it there: %v; the answer is %q, denied %q", mode, prompt, name, err, want, a.Text, a.Denied)
				}
			}
			if refused := mode == "plan" && prompt == "write"; refused != (len(a.Denied) == 1) {
				t.Errorf("%s, %s: denied %q, want a patch: %v", mode, prompt, a.Denied, refused)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".codex", "config.toml")); err == nil {
		t.Error("the CLI's configuration was written from within the cage")
	}
}

package gemini

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// TestContractCaged: in a cage the CLI can keep its list of directories, whatever was there in
// place of it, or of the lock on it. It waits in ever longer intervals for a lock that it can't
// take, and says nothing.
func TestContractCaged(t *testing.T) {
	t.Parallel()
	s := newSite(t, echo)
	h := s.backend.home()
	must(t, os.MkdirAll(h.ours("tmp", "projects.json.lock", "full"), 0o700))
	must(t, os.WriteFile(h.ours("projects.json"), []byte(`{"projects": {}}`), 0o600))
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(h.ours("tmp", "projects.json.lock"), long, long))
	o := s.order("hi")
	o.Idle = 4 * time.Minute
	o.Prompt.Cage = cage.New(cage.Policy{
		Writable: append(s.backend.Needs().Write, o.Dir, variable(s.backend.Env, "TMPDIR"), os.DevNull), Network: cage.Network{IsOpen: true},
	})
	s.answer(o)
}

// TestContractLatePrompt: a CLI that stood still just when it began to read, as on a busy machine,
// believes that there is no prompt. It is tried again.
func TestContractLatePrompt(t *testing.T) {
	t.Parallel()
	s := newSite(t, echo)
	s.backend.Path = agenttest.Unheard(t, s.backend.Path)
	if _, f := s.run(s.order("x")); f == nil || f.Class != runner.Transient || !strings.Contains(f.Message, "took its prompt for missing") {
		t.Errorf("got %+v, want a failure that passes", f)
	}
}

// TestFindingTheCLILeavesItsHome: a CLI that tells its version replaces the list of directories,
// if it gets to that before it exits. Another one may have just been started in a cage. It obeys
// nothing of the checkout meanwhile.
func TestFindingTheCLILeavesItsHome(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	path := agenttest.Script(t, `mkdir -p "$GEMINI_CLI_HOME/.gemini" && cd "$GEMINI_CLI_HOME/.gemini" &&
		echo '{"projects": {}}' > new && mv -f new projects.json && [ "$GEMINI_CLI_TRUST_WORKSPACE" = false ] && echo 0.61.0`)
	b := &Backend{Path: path, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	h := b.home()
	_, err := h.prepare(dir)
	must(t, err)
	if _, fail := new(program.Finder).Find(t.Context(), b.source(), runner.Order{Dir: dir, Mark: "x"}, func(string) {}); fail != nil {
		t.Fatal(fail)
	}
	if got, err := os.Readlink(h.ours("projects.json")); err != nil || got != filepath.Join("tmp", "projects.json") {
		t.Errorf("list of directories: got a link to %q, %v, want one to where it can be written in a cage", got, err)
	}
}

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// TestCagedProgramWritesOnlyItsConversation checks that a caged program can't write other conversations
// in the same directory. It also checks that the program can read files in the workflow's scope
// directory, but no files next to that directory.
func TestCagedProgramWritesOnlyItsConversation(t *testing.T) {
	t.Parallel()
	p := newFixture(t, `echo mine >>"$RAYMOND_SESSION_FILE"; cd "$(dirname "$RAYMOND_SESSION_FILE")"
		{ echo x >>other; echo x >new; cat "$RAYMOND_SCOPE/../secret"; } 2>/dev/null
		cat "$RAYMOND_SESSION_FILE" other "$RAYMOND_SCOPE/agent.mjs" 2>/dev/null; ls 2>/dev/null; true`)
	folder := filepath.Join(strings.TrimPrefix(p.backend.Env[1], "HOME="), ".local/state/raymond/conversations")
	private := t.TempDir()
	scope := filepath.Join(private, "scope")
	for path, text := range map[string]string{
		filepath.Join(folder, "other"): "whole\n", filepath.Join(scope, "agent.mjs"): "program\n", filepath.Join(private, "secret"): "secret\n",
	} {
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	p.env = append(p.env, "RAYMOND_SCOPE="+scope)
	p.cage = cage.New(cage.Policy{Readable: append(cage.SystemPaths(), scope), Writable: []string{p.dir, os.DevNull}, Network: cage.Network{IsOpen: true}})
	a, f := p.run(fresh("x"))
	if want := "mine\nprogram\n"; f != nil || a.Text != want {
		t.Errorf("got %q, %v, want %q", a.Text, f, want)
	}
}

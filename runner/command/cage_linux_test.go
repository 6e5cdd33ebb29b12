package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// TestACagedProgramWritesItsOwnConversationAlone, not those of others in the folder.
func TestACagedProgramWritesItsOwnConversationAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `echo mine >>"$RAYMOND_SESSION_FILE"; cd "$(dirname "$RAYMOND_SESSION_FILE")"; { echo x >>other; echo x >new; } 2>/dev/null; cat "$RAYMOND_SESSION_FILE" other; ls`)
	folder := filepath.Join(strings.TrimPrefix(p.backend.Env[1], "HOME="), ".local/state/raymond/conversations")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "other"), []byte("whole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := fresh("x")
	o.Cage = cage.New(cage.Policy{Writable: []string{p.dir, os.DevNull}, Network: cage.Network{IsOpen: true}})
	a, f := p.run(o)
	if want := "mine\nwhole\nconversation-" + first + ".jsonl\nother\n"; f != nil || a.Text != want {
		t.Errorf("got %q, %v, want %q", a.Text, f, want)
	}
}

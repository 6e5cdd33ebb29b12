package action

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
)

// TestAMainPartThatStillDrivesIsEnded: it is asked first, and killed when it doesn't listen.
func TestAMainPartThatStillDrivesIsEnded(t *testing.T) {
	for name, listensTo := range map[string]os.Signal{"listens": syscall.SIGTERM, "deaf": os.Kill} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			main, err := state.Create(dir, "r", session.Holder())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "r.json"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			var got []os.Signal
			p := Process{Signal: func(pid int, s os.Signal) error {
				if got = append(got, s); pid != os.Getpid() {
					t.Errorf("got a signal for %d, want the process that the lock names", pid)
				}
				if s == listensTo {
					return main.Close()
				}
				return nil
			}}
			if err := p.endDrivers(dir, 0); err != nil || got[len(got)-1] != listensTo || got[0] != syscall.SIGTERM {
				t.Errorf("got %v, %v, want it to end with %v", got, err, listensTo)
			}
			n := len(got)
			if err := p.endDrivers(dir, 0); err != nil || len(got) != n {
				t.Errorf("nobody drives: got %v, %v", got, err)
			}
		})
	}
}

package state

import (
	"os"
	"os/exec"
	"testing"
)

// TestProcessThatWaitsToBeCollectedIsDead: its parent may take its time.
func TestProcessThatWaitsToBeCollectedIsDead(t *testing.T) {
	cmd := exec.Command("true")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err == nil { // until it has ended
		t.Fatal("got output, want its end")
	}
	for isAlive(cmd.Process.Pid) {
		// It closes its files a moment before it ends.
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

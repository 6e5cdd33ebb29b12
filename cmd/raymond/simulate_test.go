package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestSimulateEndsAtASignal: what is under way is ended, and nothing is left.
func TestSimulateEndsAtASignal(t *testing.T) {
	for name, c := range map[string]struct {
		signal os.Signal
		code   int
	}{"interrupt": {os.Interrupt, 130}, "terminate": {syscall.SIGTERM, 143}} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "-- 1_START.sh --\ntouch begun\nsleep 1000\n-- replies.yaml --\nexpect: {}\n")
			temp := t.TempDir()
			j := s.startWith([]string{"TMPDIR=" + temp}, "simulate", s.flow, "--replies", s.flow+"/replies.yaml")
			j.until("the script runs", func() bool { return exists(s.file("begun")) })
			if err := j.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			o := j.wait()
			if o.code != c.code || !strings.Contains(o.stderr, "cancelled") || strings.Contains(o.stderr, "resume") {
				t.Errorf("after a signal: got %v\nwant exit code %d and no word of resuming", o, c.code)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("in the temporary folder: got %v (%v), want nothing", left, err)
			}
		})
	}
}

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
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
			j := s.StartWith([]string{"TMPDIR=" + temp}, "simulate", s.Flow, "--replies", s.Flow+"/replies.yaml")
			j.Until("the script runs", func() bool { return sitetest.Exists(s.File("begun")) })
			if err := j.Cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			o := j.Wait()
			if o.Code != c.code || !strings.Contains(o.Stderr, "cancelled") || strings.Contains(o.Stderr, "resume") {
				t.Errorf("after a signal: got %v\nwant exit code %d and no word of resuming", o, c.code)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("in the temporary folder: got %v (%v), want nothing", left, err)
			}
		})
	}
}

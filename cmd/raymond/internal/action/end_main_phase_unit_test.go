package action

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state/journal"
)

// TestRunningMainPhaseIsEnded checks that a main phase that still drives a run gets SIGTERM first,
// and is killed if it ignores the signal.
func TestRunningMainPhaseIsEnded(t *testing.T) {
	for name, listensTo := range map[string]os.Signal{"listens": syscall.SIGTERM, "deaf": os.Kill} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			main, err := journal.Create(dir, "r", session.Holder())
			assert.NilError(t, err)
			assert.NilError(t, os.WriteFile(filepath.Join(dir, "r.json"), nil, 0o600))
			var got []os.Signal
			p := Process{Signal: func(pid int, s os.Signal) error {
				got = append(got, s)
				assert.Check(t, is.Equal(pid, os.Getpid()))
				if s == listensTo {
					return main.Close()
				}
				return nil
			}}
			if wasThere, err := p.endDrivers(dir, 0); err != nil || !wasThere || got[len(got)-1] != listensTo || got[0] != syscall.SIGTERM {
				t.Errorf("got %v, %v, %v, want it to end with %v", wasThere, got, err, listensTo)
			}
			n := len(got)
			if wasThere, err := p.endDrivers(dir, 0); err != nil || wasThere || len(got) != n {
				t.Errorf("nobody drives: got %v, %v, %v", wasThere, got, err)
			}
		})
	}
}

// TestLaterStepEndsDriverOfItsKey checks that a step ends an earlier step of the job that drives
// the same key, but no step that drives another key.
func TestLaterStepEndsDriverOfItsKey(t *testing.T) {
	temp, runs, signals := t.TempDir(), map[string]*journal.File{}, 0
	for _, key := range []string{"k", "another"} {
		dir := filepath.Join(temp, "raymond", "job-step-"+key)
		err := files.WriteJSON(filepath.Join(dir, noteFile), noteData{Key: key})
		if err == nil {
			runs[key], err = journal.Create(dir, "r", session.Holder())
		}
		assert.NilError(t, errors.Join(err, os.WriteFile(filepath.Join(dir, "r.json"), nil, 0o600)))
	}
	defer runs["another"].Close()
	p := Process{Signal: func(int, os.Signal) error {
		signals++
		return runs["k"].Close()
	}}
	if err := p.endEarlier(dirs{all: filepath.Join(temp, "raymond")}, "k"); err != nil || signals != 1 {
		t.Errorf("got %v, %d signals, want one, after which nobody drives the key", err, signals)
	}
}

// TestLeftoverProcessesFailTheStep checks that a step fails as denied if a process is left at its
// end, and that the command line of the process can't add lines to the log.
func TestLeftoverProcessesFailTheStep(t *testing.T) {
	assert.Check(t, checkProcesses(nil), "nothing is left")
	var p *problem.Problem
	err := checkProcesses([]string{"12 (sleep\n::warning::9)", "13 (sh)"})
	assert.Assert(t, errors.As(err, &p), "got %v", err)
	assert.Check(t, is.Equal(p.Class, problem.ClassDenied))
	assert.Check(t, is.Equal(p.What, "can't be ended: 12 (sleep ::warning::9), 13 (sh)"))
}

package action

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state/journal"
)

// mainGrace is how long a main phase has to end its agents, and to store the run if there is
// time.
const mainGrace = 10 * time.Second

// endDrivers ends a main phase that still drives a run in the given directory of a step. A main
// phase in a job container gets no signal when the job is cancelled. The run's lock, which agents
// can't change, names its process. wasThere reports whether it found a process.
func (p Process) endDrivers(dir string, grace time.Duration) (wasThere bool, err error) {
	ids, err := journal.List(dir)
	for _, id := range ids {
		drove, driverErr := p.endDriver(dir, id, grace)
		wasThere, err = wasThere || drove, errors.Join(err, driverErr)
	}
	return wasThere, err
}

func (p Process) endDriver(dir, id string, grace time.Duration) (wasThere bool, err error) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Kill} {
		d, err := journal.FindDriver(dir, id)
		if host, _ := os.Hostname(); err != nil || d == nil || d.PID <= 0 || d.Host != host {
			return wasThere, err
		}
		wasThere = true
		_ = p.Signal(d.PID, signal) // a process that has ended meanwhile has released the lock
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		for ; err == nil && d != nil && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			d, err = journal.FindDriver(dir, id)
		}
		cancel()
	}
	return wasThere, nil
}

// endEarlier ends the main phase of an earlier step of this job if it still drives a run with the
// key.
func (p Process) endEarlier(d dirs, key string) error {
	entries, err := os.ReadDir(d.all)
	for _, e := range entries {
		var note noteData
		dir := filepath.Join(d.all, e.Name())
		if dir != d.own && files.ReadJSON(filepath.Join(dir, noteFile), &note) == nil && note.Key == key {
			_, driverErr := p.endDrivers(dir, mainGrace)
			err = errors.Join(err, driverErr)
		}
	}
	return err
}

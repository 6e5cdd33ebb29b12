package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// EventsFile is the name of the file that contains the event log, in a run's own directory.
const EventsFile = "events.jsonl"

// openLogs opens the run's event log and the copy that --events names. log is nil in a simulation, which has
// no event log. The caller must close events, even after an error.
func openLogs(u Setup) (events *report.Fanout, log *report.EventLog, err error) {
	events = report.NewFanout(func(name string, err error) {
		fmt.Fprintln(u.Stderr, "raymond: warning: "+text.Escape(name+": "+err.Error()+"; nothing more is written there"))
	})
	events.Hide = u.Hide
	if u.Store != nil || u.Resumed { // a simulation has no event log
		if !u.Resumed {
			// There may be a log of an earlier run with the same id whose state file was deleted. That log is
			// renamed, so that the new log begins with event number 1.
			path := filepath.Join(u.Dir, EventsFile)
			err := files.Rename(path, path+"."+time.Now().UTC().Format("20060102T150405.000"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return events, nil, err
			}
		}
		if log, err = OpenLog(u.Dir, u.Run, u.Hide, u.Seal); err != nil {
			return events, nil, err
		}
		events.Add("event log", log)
	}
	return events, log, copyLog(u, events)
}

// OpenLog opens the event log in a run's own directory and adds missing events. After a crash, the log may
// lack events of the last saved step, and their numbers must not be used for other events. mask, if not nil,
// is applied to the added events. seal, if not nil, gets everything that is written. The caller must close
// the log.
func OpenLog(dir string, run *state.Run, mask func(string) string, seal report.IntegrityLog) (*report.EventLog, error) {
	path := filepath.Join(dir, EventsFile)
	// Opening a pipe that an agent has created there would block.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("event log %s: %w", path, files.ErrNotRegular)
	}
	log, err := report.OpenEventLog(path, run.WorkflowID)
	if err != nil {
		return nil, err
	}
	if seal != nil {
		if err := log.SetIntegrityLog(seal); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	for _, e := range run.Events {
		if mask != nil {
			e = e.Map(mask)
		}
		if err := log.Report(e); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	run.Progress.Events = max(run.Progress.Events, log.LastSeq())
	return log, nil
}

// copyLog opens the copy of the event log that --events names. For a resumed run, it adds the earlier events.
func copyLog(u Setup, events *report.Fanout) error {
	switch u.Options.Events {
	case "":
		return nil
	case "-":
		events.Add("--events", report.NewEventLog(u.Stdout, u.Run.WorkflowID, u.Run.Progress.Events))
		return nil
	}
	log, err := report.OpenEventLog(u.Options.Events, u.Run.WorkflowID)
	if err != nil {
		return problem.Usage("--events", err.Error(), "")
	}
	events.Add("--events", log)
	if !u.Resumed {
		log.Restart()
		return nil
	}
	return log.CopyFrom(filepath.Join(u.Dir, EventsFile))
}

// PrintResult writes the result of a run to stdout. It writes nothing if stdout contains the events. On a
// terminal it removes escape sequences, with which an agent could clear the screen or write to the clipboard.
func PrintResult(stdout io.Writer, events string, run *state.Run) error {
	payload, _ := run.Result()
	result := string(payload)
	if events == "-" || result == "" {
		return nil
	}
	if f, isFile := stdout.(*os.File); isFile {
		if _, isTerminal := report.TerminalWidth(f); isTerminal {
			result = text.Printable(result)
		}
	}
	_, err := io.WriteString(stdout, strings.TrimSuffix(result, "\n")+"\n")
	return err
}

// syncedStore is the store of a run. A snapshot of the run replaces the steps in the journal, so WriteSnapshot
// makes sure that the events of these steps are on disk before the snapshot replaces them.
type syncedStore struct {
	*journal.File
	log    *report.EventLog
	synced int // number of the last event that is known to be on disk
}

// WriteSnapshot implements runner.Store.
func (k *syncedStore) WriteSnapshot(r *state.Run, d *state.Delta) error {
	last := k.log.LastSeq()
	if last == k.synced {
		return k.File.WriteSnapshot(r, d, nil)
	}
	// The log is synced while the snapshot is written, so that both can share one write to the disk.
	synced := make(chan error, 1)
	go func() { synced <- k.log.Sync() }()
	if err := k.File.WriteSnapshot(r, d, func() error { return <-synced }); err != nil {
		return err
	}
	k.synced = last
	return nil
}

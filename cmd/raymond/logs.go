package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// reporters opens the event log and whatever else is told the events.
func (d *drive) reporters() error {
	if err := d.logs(); err != nil {
		return err
	}
	if err := d.host.people(d); err != nil {
		return err
	}
	if d.o.debugDir != "" {
		dir, err := filepath.Abs(d.o.debugDir)
		if err != nil {
			return err
		}
		d.fan.Add("debug folder", report.NewDebug(dir))
	}
	return nil
}

// console adds what a person at a shell sees.
func (d *drive) console() error {
	d.fan.Add("console", report.NewConsole(d.app.Stderr, d.consoleOptions()))
	return nil
}

// logs opens the run's own log and its copy.
func (d *drive) logs() error {
	d.fan = report.NewFanout(func(name string, err error) {
		fmt.Fprintln(d.app.Stderr, "raymond: warning: "+text.Escaped(name+": "+err.Error()+"; nothing more goes there"))
	})
	if err := d.openLog(); err != nil {
		return err
	}
	d.fan.Add("event log", d.log)
	return d.copyLog()
}

// openLog opens the run's own log and completes it: the events of the last save
// may be missing after a crash, and numbers in it must not come again.
func (d *drive) openLog() error {
	path, err := d.dir("events.jsonl")
	if err != nil {
		return err
	}
	if !d.resumed && d.store != nil {
		if err := setAside(path); err != nil {
			return err
		}
	}
	// A pipe that an agent put there would never take an event.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("event log %s: %w", path, files.ErrNotRegular)
	}
	if d.log, err = report.OpenLog(path, d.run.WorkflowID); err != nil {
		return err
	}
	for _, e := range d.run.Events {
		if err := d.log.Report(d.hide(e)); err != nil {
			return err
		}
	}
	d.run.Progress.Events = max(d.run.Progress.Events, d.log.LastSeq())
	return nil
}

// setAside keeps the log of an earlier run of the same id whose state file is
// gone: the new run's begins with number 1.
func setAside(path string) error {
	for n := 1; ; n++ {
		next := fmt.Sprintf("%s.%d", path, n)
		if _, err := os.Lstat(next); err == nil {
			continue
		}
		err := os.Rename(path, next)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
}

// copyLog opens what --events names.
func (d *drive) copyLog() error {
	switch d.o.events {
	case "":
		return nil
	case "-":
		d.fan.Add("--events", report.NewLog(d.app.Stdout, d.run.WorkflowID, d.run.Progress.Events))
		return nil
	}
	log, err := report.OpenLog(d.o.events, d.run.WorkflowID)
	if err != nil {
		return &problem.Problem{Class: problem.ClassUsage, Where: "--events", What: err.Error()}
	}
	kept, err := d.dir("events.jsonl")
	if err != nil {
		return err
	}
	d.fan.Add("--events", log)
	if !d.resumed {
		log.Restart()
		return nil
	}
	return log.CopyFrom(kept)
}

func (d *drive) consoleOptions() report.ConsoleOptions {
	opt := report.ConsoleOptions{Quiet: d.o.quiet, Verbose: d.o.verbose(), WorkflowID: d.run.WorkflowID}
	if f, ok := d.app.Stderr.(*os.File); ok {
		opt.Width, opt.Terminal = report.Terminal(f)
	}
	opt.Color = opt.Terminal && d.app.Getenv("NO_COLOR") == ""
	return opt
}

// keeper is the store of a run: before steps leave the journal, the log that
// has their events is on disk too.
type keeper struct {
	*state.File
	log    *report.Log
	synced int // the last event of the log that is on disk for sure
}

// Fold implements runner.Store.
func (k *keeper) Fold(r *state.Run) error {
	last := k.log.LastSeq()
	if last == k.synced {
		return k.File.Fold(r, nil)
	}
	// Side by side with the new snapshot: the two share a write of the disk.
	synced := make(chan error, 1)
	go func() { synced <- k.log.Sync() }()
	if err := k.File.Fold(r, func() error { return <-synced }); err != nil {
		return err
	}
	k.synced = last
	return nil
}

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// EventLog writes the events of one run as JSON lines. It writes an event only if its
// number is above those of all events of the run that it has. After a crash it can
// therefore be given the events of the last save again, and then has each event
// exactly once.
type EventLog struct {
	w      io.Writer
	file   *os.File // nil for a Log of NewLog
	id     string
	last   int
	broken error
	seal   IntegrityLog // nil: nobody is told
}

// IntegrityLog is told of what a log has, and of each line before that is added. An error
// prevents the line. Paths are those of the file.
type IntegrityLog interface {
	Adopt(path string) error
	Append(path string, data []byte) error
}

// NewEventLog returns a Log on w, which writes the events of a run that have a number above
// after. It is for writers that can't be read, such as stdout.
func NewEventLog(w io.Writer, workflowID string, after int) *EventLog {
	return &EventLog{w: w, id: workflowID, last: after}
}

// OpenEventLog opens the log at path for appending. It creates missing folders with mode
// 0700 and a missing file with mode 0600. If a crash left half a line at the end,
// OpenEventLog removes that; nothing else in the file is ever changed. The file may also
// have the events of other runs, and it may be a pipe or a device.
func OpenEventLog(path, workflowID string) (*EventLog, error) {
	f, last, err := openLog(path, workflowID)
	if err != nil {
		return nil, fmt.Errorf("open event log: %w", err)
	}
	return &EventLog{w: f, file: f, id: workflowID, last: last}, nil
}

func openLog(path, workflowID string) (f *os.File, last int, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		return f, 0, err
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		last, err = repairLog(path, workflowID)
	}
	if err == nil {
		f, _, err = files.OpenTarget(path, os.O_WRONLY|os.O_APPEND, 0)
	}
	return f, last, err
}

// Restart makes the log accept the events of a new run that has the id of a run
// whose events it already has. It may be called only before the first Report.
func (l *EventLog) Restart() { l.last = 0 }

// SetIntegrityLog has a Seal told of the log from now on. It is for logs of OpenLog, before the
// first Report.
func (l *EventLog) SetIntegrityLog(s IntegrityLog) error {
	l.seal = s
	if err := s.Adopt(l.file.Name()); err != nil {
		return fmt.Errorf("seal event log: %w", err)
	}
	return nil
}

// LastSeq returns the number of the last event of this run in the log, 0 when there
// is none. It can be above the number in the state file, since some events belong to
// no save: a resumed run must number its events above both.
func (l *EventLog) LastSeq() int { return l.last }

// Report writes the event in one write, unless the log has it. After an error it
// writes nothing more and returns the same error, so that a torn line stays the last
// one.
func (l *EventLog) Report(e state.Event) error {
	if l.broken != nil || e.Seq <= l.last {
		return l.broken
	}
	line, err := e.Line(l.id)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if l.seal != nil {
		if l.broken = l.seal.Append(l.file.Name(), line); l.broken != nil {
			return l.broken
		}
	}
	if _, err := l.w.Write(line); err != nil {
		l.broken = fmt.Errorf("write event %d: %w", e.Seq, err)
		return l.broken
	}
	l.last = e.Seq
	return nil
}

// CopyFrom writes the events that the run's own log at path has and this one lacks.
// It ignores a missing file, and lines that are no events, as a crash of the machine may have left them. If both are
// the same file, this Log writes nothing from now on. CopyFrom may be called only before the first Report.
func (l *EventLog) CopyFrom(path string) error {
	here, errHere := l.file.Stat()
	if there, err := os.Stat(path); errors.Join(err, errHere) == nil && os.SameFile(here, there) {
		l.w = io.Discard
		return nil
	}
	for e, err := range Events(path) {
		if _, isNoEvent := errors.AsType[*state.FileError](err); isNoEvent {
			continue
		}
		if err == nil {
			err = l.Report(e)
		}
		if err != nil {
			return fmt.Errorf("copy event log: %w", err)
		}
	}
	return nil
}

// Sync makes what was written survive a crash of the machine, if the log is a
// regular file.
func (l *EventLog) Sync() error {
	if l.file == nil {
		return nil
	}
	if info, err := l.file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return l.file.Sync()
}

// Close implements Reporter. It does not sync, and it does not close the writer of
// NewLog.
func (l *EventLog) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// seqOf returns the number of the event in a line of a log, and false if the line is
// not an event of the run.
func seqOf(line []byte, workflowID string) (int, bool) {
	if !bytes.Contains(line, []byte(workflowID)) {
		return 0, false
	}
	var head struct {
		WorkflowID string `json:"workflow_id"`
		Seq        int    `json:"seq"`
	}
	err := json.Unmarshal(line, &head)
	return head.Seq, err == nil && head.WorkflowID == workflowID
}

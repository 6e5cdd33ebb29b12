package report

import (
	"bufio"
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

// EventLog writes the events of one run as JSON lines. It skips events that are already in the log:
// events whose numbers are not greater than the number of the run's last event in the log. So after
// a crash, the events since the last save can be reported again, and the log still contains each
// event once.
type EventLog struct {
	w            io.Writer
	file         *os.File // nil in a log that NewEventLog returned
	id           string
	lastSeq      int
	writeErr     error        // first error, after which no event is written
	integrityLog IntegrityLog // may be nil
}

// IntegrityLog records the content of the file at path, the event log. Adopt records the existing
// content. Append records data before it is appended to the file; if it returns an error, the data
// is not written.
type IntegrityLog interface {
	Adopt(path string) error
	Append(path string, data []byte) error
}

// NewEventLog returns an EventLog that writes the events of a run to w. It skips events whose number
// is not greater than after. It is for writers from which the log can't be read, such as stdout.
func NewEventLog(w io.Writer, workflowID string, after int) *EventLog {
	return &EventLog{w: w, id: workflowID, lastSeq: after}
}

// OpenEventLog opens the log at path for appending. It creates missing folders with mode 0700, and
// a missing file with mode 0600. If a crash has left an incomplete last line, OpenEventLog removes
// the line. The log may also contain events of other runs. If path is a pipe or a device, existing
// events are not read.
func OpenEventLog(path, workflowID string) (*EventLog, error) {
	l := &EventLog{id: workflowID}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		l.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	} else {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			l.lastSeq, err = repairLog(path, workflowID)
		}
		if err == nil {
			l.file, _, err = files.OpenTarget(path, os.O_WRONLY|os.O_APPEND, 0)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open event log: %w", err)
	}
	l.w = l.file
	return l, nil
}

// Restart makes the log accept the events of a new run, whose numbers start at 1 again, although the
// log contains events of an earlier run with the same id. It must be called before the first Report.
func (l *EventLog) Restart() { l.lastSeq = 0 }

// SetIntegrityLog sets the integrity log of a log that OpenEventLog has returned, and adds the
// existing content of the log to it. It must be called before the first Report.
func (l *EventLog) SetIntegrityLog(s IntegrityLog) error {
	l.integrityLog = s
	if err := s.Adopt(l.file.Name()); err != nil {
		return fmt.Errorf("add event log to the integrity log: %w", err)
	}
	return nil
}

// LastSeq returns the number of the run's last event in the log, or 0. This number can be greater
// than the number in the state file, since some events are not saved there. A resumed run must give
// its events numbers above both.
func (l *EventLog) LastSeq() int { return l.lastSeq }

// Report appends the event with a single write, unless the log already contains it. After an error,
// Report writes nothing more and returns the same error, so that no event follows an incomplete
// line.
func (l *EventLog) Report(e state.Event) error {
	if l.writeErr != nil || e.Seq <= l.lastSeq {
		return l.writeErr
	}
	line, err := e.Line(l.id)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if l.integrityLog != nil {
		if l.writeErr = l.integrityLog.Append(l.file.Name(), line); l.writeErr != nil {
			return l.writeErr
		}
	}
	if _, err := l.w.Write(line); err != nil {
		l.writeErr = fmt.Errorf("write event %d: %w", e.Seq, err)
		return l.writeErr
	}
	l.lastSeq = e.Seq
	return nil
}

// CopyFrom copies events that this log does not contain yet from another log of the run at path. It
// ignores a missing file, and lines that are not events, which a crash of the machine may have
// left. If both logs are the same file, this log writes nothing from then on. CopyFrom must be
// called before the first Report.
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

// Sync flushes the log to disk if it is a regular file, so that it survives a crash of the machine.
func (l *EventLog) Sync() error {
	if l.file == nil {
		return nil
	}
	if info, err := l.file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return l.file.Sync()
}

// Close implements Reporter. It closes the file of OpenEventLog without syncing it. It does not
// close the writer that was passed to NewEventLog.
func (l *EventLog) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// repairLog creates the log at path if it is missing, and removes an incomplete last line that a
// crash has left. If the last line is not followed by a line break, but was not left by a crash, it
// adds the line break. It returns the number of the run's last event in the log. It opens the file
// itself, because some systems can't truncate a file that is open for appending.
func repairLog(path, workflowID string) (last int, err error) {
	f, _, err := files.OpenTarget(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, note := int64(0), func(line []byte) {
		var head struct {
			WorkflowID string `json:"workflow_id"`
			Seq        int    `json:"seq"`
		}
		if bytes.Contains(line, []byte(workflowID)) && json.Unmarshal(line, &head) == nil && head.WorkflowID == workflowID {
			last = head.Seq
		}
	}
	in, rest := eventLines(f)
	for in.Scan() {
		end += int64(len(in.Bytes())) + 1
		note(in.Bytes())
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return 0, fmt.Errorf("it has a line of more than %d bytes", longestEvent)
	}
	switch err := in.Err(); {
	case err != nil || len(*rest) == 0:
		return last, err
	// A crash has left this incomplete event. Any other text was not written by an EventLog and must
	// be kept.
	case ((*rest)[0] == '{' || (*rest)[0] == 0) && !json.Valid(*rest):
		return last, f.Truncate(end)
	}
	note(*rest)
	_, err = f.WriteAt([]byte{'\n'}, end+int64(len(*rest)))
	return last, err
}

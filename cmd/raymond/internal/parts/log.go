package parts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// logFile is the event log in a checkpoint.
const logFile = "events.jsonl"

// maxLine is the longest line of a log that is read, in bytes.
const maxLine = 16 << 20

// ReadLog returns the events of a run that the log at path has with numbers above after.
// A log that is missing has none. Its error is a *state.FileError, or one of the file.
func ReadLog(path, workflowID string, after int) ([]state.Event, error) {
	f, _, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), maxLine)
	var events []state.Event
	for n := 1; lines.Scan(); n++ {
		var head struct {
			Seq        int    `json:"seq"`
			WorkflowID string `json:"workflow_id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
			return nil, badLine(n, err)
		}
		if head.WorkflowID != workflowID || head.Seq <= after {
			continue
		}
		var e state.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, badLine(n, err)
		}
		events = append(events, e)
	}
	return events, lines.Err()
}

func badLine(n int, err error) error {
	return &state.FileError{Field: fmt.Sprintf("%s line %d", logFile, n), What: err.Error()}
}

// AppendLog adds events to the log at path, which a checkpoint has brought: those of the
// run's last save, as far as the log lacks them, and then what was joined.
func AppendLog(path string, run *state.Run, joined []state.Event) error {
	last := 0
	have, err := ReadLog(path, run.WorkflowID, 0)
	if err != nil {
		return err
	}
	if len(have) > 0 {
		last = have[len(have)-1].Seq
	}
	var b bytes.Buffer
	for _, events := range [][]state.Event{run.Events, joined} {
		for _, e := range events {
			if e.Seq <= last {
				continue
			}
			line, err := e.Line(run.WorkflowID)
			if err != nil {
				return err
			}
			b.Write(line)
			last = e.Seq
		}
	}
	f, _, err := files.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonlimit"
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

// PathOf reads what a run did from its event log. What a crash kept from the log
// is in the state file.
func PathOf(stateDir string, run *state.Run) (*diagram.Path, error) {
	events, err := eventsOf(stateDir, run)
	if err != nil {
		return nil, err
	}
	path := &diagram.Path{}
	for _, e := range events {
		path.Add(e)
	}
	return path, nil
}

// maxEvent bounds a line of an event log, in bytes; a result may be long.
const maxEvent = 64 << 20

// Events yields the events of a log, without a last line that is torn, up to the first
// error, which is a *state.FileError where the log is damaged. A log that is missing has none.
func Events(path string) iter.Seq2[state.Event, error] {
	return func(yield func(state.Event, error) bool) {
		f, _, err := files.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		if err != nil {
			yield(state.Event{}, err)
			return
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, maxEvent)
		lines.Split(wholeLines)
		for n := 1; lines.Scan(); n++ {
			e, err := event(lines.Bytes())
			if err != nil {
				yield(state.Event{}, &state.FileError{Path: path, Field: fmt.Sprintf("line %d", n), What: err.Error()})
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(state.Event{}, err)
		}
	}
}

// event reads a line of a log.
func event(line []byte) (e state.Event, err error) {
	if err = jsonlimit.Check(line); err == nil {
		err = json.Unmarshal(line, &e)
	}
	return e, err
}

// wholeLines is bufio.ScanLines without a last line that has no end.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	advance, token, err := bufio.ScanLines(data, false)
	if advance == 0 && atEOF {
		return len(data), nil, err
	}
	return advance, token, err
}

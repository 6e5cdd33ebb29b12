package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonlimit"
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

// PathOf reads what a run did from its event log. What a crash kept from the log
// is in the state file.
func PathOf(stateDir string, run *state.Run) (*diagram.Path, error) {
	events, err := EventsOf(stateDir, run)
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

// readEvents returns the events of a log, without a last line that is torn.
func readEvents(path string) ([]state.Event, error) {
	f, _, err := files.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var events []state.Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxEvent)
	lines.Split(wholeLines)
	for n := 1; lines.Scan(); n++ {
		var e state.Event
		err := jsonlimit.Check(lines.Bytes())
		if err == nil {
			err = json.Unmarshal(lines.Bytes(), &e)
		}
		if err != nil {
			return nil, &state.FileError{Path: path, Field: fmt.Sprintf("line %d", n), What: err.Error()}
		}
		events = append(events, e)
	}
	return events, lines.Err()
}

// wholeLines is bufio.ScanLines without a last line that has no end.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	advance, token, err := bufio.ScanLines(data, false)
	if advance == 0 && atEOF {
		return len(data), nil, err
	}
	return advance, token, err
}

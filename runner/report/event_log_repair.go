package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

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
		if seq, ok := seqOf(line, workflowID); ok {
			last = seq
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

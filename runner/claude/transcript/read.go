package transcript

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonlimit"
	"github.com/raymond-action/raymond-action/runner/claude/tally"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// MaxLine is how much of a line of the CLI is kept in memory, in bytes. Longer
// ones are tool results with images or whole files, of which only the type
// matters.
const MaxLine = 16 << 20

// maxRead is how much of a transcript is read, in bytes. One that is longer can't be
// stored for a later job either; a file that only seems to have terabytes must not keep
// a run from ending.
const maxRead = 512 << 20

// errStop ends the reading of a file early.
var errStop = errors.New("stop")

// HoldsPrompt reports whether a transcript can be resumed: the CLI can neither
// resume one without any prompt nor begin its session again.
func HoldsPrompt(path string) (bool, error) {
	found := false
	err := eachLine(path, 0, func(line []byte, _ bool) error {
		if TypeOf(line) == "user" {
			found = true
			return errStop
		}
		return nil
	})
	return found, err
}

// CutBack truncates a file to a length, and leaves a shorter one alone: bytes
// that were never there would not be the conversation either.
func CutBack(path string, length int64) error {
	f, info, err := files.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if length < 0 || info.Size() <= length {
		return nil
	}
	return errors.Join(f.Truncate(length), f.Sync())
}

// Count is a line in which the CLI keeps what a conversation has cost so far, as
// it wrote it.
type Count struct {
	TotalCost  jsontext.Value `json:"totalCostUSD"`
	ModelUsage jsontext.Value `json:"modelUsage"`
}

// Counts goes through the counts within the first size bytes of a transcript, the
// oldest first. One that can't be read has none; of a very long one only the end is
// read.
func Counts(path string, size int64) iter.Seq[Count] {
	return func(yield func(Count) bool) {
		at := max(0, size-maxRead)
		_ = eachLine(path, at, func(line []byte, truncated bool) error {
			if at += int64(len(line)) + 1; at > size+1 {
				return errStop
			}
			isCount := !truncated && bytes.Contains(line, []byte(`"cost-state"`)) && TypeOf(line) == "cost-state"
			var c Count
			if isCount && json.Unmarshal(line, &c, tally.Loose) == nil && !yield(c) {
				return errStop
			}
			return nil
		})
	}
}

// eachLine calls take for each line in at most maxRead bytes of a transcript from a
// byte on, until it returns errStop. Lines over MaxLine, of which it gets the beginning,
// and those that would cost too much to decode are truncated.
func eachLine(path string, from int64, take func(line []byte, truncated bool) error) error {
	f, _, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	var stop error
	lines := proc.Lines{Max: MaxLine, Line: func(line []byte, truncated bool) {
		if stop == nil {
			stop = take(line, truncated || jsonlimit.Check(line) != nil)
		}
	}}
	chunk := make([]byte, 64<<10)
	for r := io.LimitReader(f, maxRead); err == nil && stop == nil; {
		var n int
		n, err = r.Read(chunk)
		_, _ = lines.Write(chunk[:n]) // never fails
	}
	lines.Flush()
	if errors.Is(err, io.EOF) || errors.Is(stop, errStop) {
		return nil
	}
	return errors.Join(err, stop)
}

// TypeOf returns the type of a record, in a transcript or in the CLI's output, of
// which perhaps only the beginning is there; "" when that does not tell.
func TypeOf(head []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(head), tally.Loose)
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return ""
		}
		if name.String() != "type" {
			if dec.SkipValue() != nil {
				return ""
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil || value.Kind() != '"' {
			return ""
		}
		return value.String()
	}
}

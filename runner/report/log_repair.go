package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// repairLog creates the log at path if it is missing, removes a torn last line, and
// returns the number of the last event of the run. It opens the file itself: one
// that is open for appending can't be cut on every system.
func repairLog(path, workflowID string) (last int, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	end, err := closeLine(f, info.Size())
	if err != nil {
		return 0, err
	}
	return lastSeq(f, end, workflowID)
}

// closeLine makes a file of the given size end with a whole line, and returns its
// new size.
func closeLine(f *os.File, size int64) (int64, error) {
	lines := backward{r: f, at: size}
	line, err := lines.next()
	if errors.Is(err, io.EOF) || (err == nil && lines.ended) {
		return size, nil
	}
	if err != nil {
		return 0, err
	}
	if isTorn(line) {
		end := size - int64(len(line))
		return end, f.Truncate(end)
	}
	_, err = f.WriteAt([]byte{'\n'}, size)
	return size + 1, err
}

// isTorn reports whether a last line without a line break is what a crash left of
// an event. Whole events, and text that is not ours, must not be lost.
func isTorn(line []byte) bool {
	return (line[0] == '{' || line[0] == 0) && !json.Valid(line)
}

// lastSeq returns the number of the last event of the run in the first size bytes
// of r, 0 when there is none.
func lastSeq(r io.ReaderAt, size int64, workflowID string) (int, error) {
	lines := backward{r: r, at: size}
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if seq, ok := seqOf(line, workflowID); ok {
			return seq, nil
		}
	}
}

// minChunk is how many bytes are read at a time, at least.
const minChunk = 16 << 10

// backward reads lines from the end of a file to its beginning. It holds no more
// than a few times the longest line; one that is longer than an event can be is an
// error.
type backward struct {
	r     io.ReaderAt
	at    int64  // nothing before it has been read
	buf   []byte // what was read and not yet returned
	ended bool   // the line that was returned last has a line break
}

// next returns the line before the one it returned last, without its line break;
// empty lines are left out. The line is valid until the next call.
func (b *backward) next() ([]byte, error) {
	b.ended = false
	for seen := 0; ; {
		i := bytes.LastIndexByte(b.buf[:len(b.buf)-seen], '\n')
		switch {
		case i == len(b.buf)-1 && i >= 0:
			b.buf, b.ended, seen = b.buf[:i], true, 0
			continue
		case i >= 0 || (b.at == 0 && len(b.buf) > 0):
			line := b.buf[i+1:]
			b.buf = b.buf[:i+1]
			return line, nil
		case b.at == 0:
			return nil, io.EOF
		}
		seen = len(b.buf)
		if err := b.more(); err != nil {
			return nil, err
		}
	}
}

// more doubles what is held, so that the work on a long line grows only with its
// length.
func (b *backward) more() error {
	if len(b.buf) > longestEvent {
		return fmt.Errorf("it has a line of more than %d bytes", longestEvent)
	}
	n := min(b.at, max(minChunk, int64(len(b.buf))))
	grown := make([]byte, n, n+int64(len(b.buf)))
	if _, err := b.r.ReadAt(grown, b.at-n); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	b.at -= n
	b.buf = append(grown, b.buf...)
	return nil
}

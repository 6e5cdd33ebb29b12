package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// A new snapshot is due if the steps after the last snapshot exceed both maxGrowth times that snapshot's
// size and journalMin bytes. The cost of snapshots therefore stays in proportion to the number of bytes
// appended.
const (
	maxGrowth  = 8
	journalMin = 4 << 20
)

// maxFile is the maximum size in bytes of a state file, and of a line of its journal.
const maxFile = 64 << 20

// DefaultHistory is the default maximum size of a journal, in bytes.
const DefaultHistory = 64 << 20

// Ext is the extension of a journal's file name. It follows the run's id.
const Ext = ".journal"

// lines describes the lines of a run's journal file that have been scanned or written. Each line
// contains a step, or a whole run. The steps before a whole run are not needed to read that run.
type lines struct {
	file       writableFile // nil if the file must be scanned before the next line is written
	size       int64        // size of these lines in bytes; nothing follows them
	last       int          // number of the step in the last line; 0 without lines
	isComplete bool         // whether the journal ends with a whole run and all steps after it
	appended   int64        // number of bytes written since the last snapshot
}

// Append saves one step: it appends a line with a checksum to the journal and syncs the file. When it
// returns nil, the step survives a crash of the machine. After an error the caller must stop, because
// the step may or may not have been saved.
func (f *File) Append(d *state.Delta) error {
	err := f.openJournal(f.seq)
	if err == nil {
		err = f.writeLine(d, d.Progress.Seq)
	}
	if err == nil {
		err = f.lines.file.Sync()
	}
	if err == nil && !f.isDirSynced {
		err = disk.syncDir(f.dir)
	}
	if err != nil {
		return fmt.Errorf("save step: %w", err)
	}
	f.seq, f.isDirSynced = d.Progress.Seq, true
	return nil
}

// Full reports whether a new snapshot is due.
func (f *File) Full() bool { return f.lines.appended > max(journalMin, maxGrowth*f.snapshotSize) }

// appendBeforeSnapshot adds the step d of a new snapshot to the journal, unless the journal keeps no
// history. If d is nil or can't follow the last line, it adds the whole run r instead. It does not sync
// the line, because a damaged last line counts as not written.
func (f *File) appendBeforeSnapshot(r *state.Run, d *state.Delta) error {
	known := f.seq
	// If d is nil, the journal may already contain all steps up to r, for example because r was saved on
	// another machine.
	if d == nil {
		known = r.Progress.Seq
	}
	if err := f.openJournal(known); err != nil || f.maxHistory == 0 {
		return err
	}
	if j := &f.lines; d == nil || d.Progress.Seq != j.last+1 || !j.isComplete {
		return f.writeLine(r, r.Progress.Seq)
	}
	return f.writeLine(d, d.Progress.Seq)
}

// openJournal opens the journal, unless it is open, and cuts off the lines after step seq. Such lines
// exist if a process died before it completed its snapshot, or if the file belongs to a deleted run.
func (f *File) openJournal(seq int) error {
	if f.lines.file != nil {
		return nil
	}
	path := f.path(Ext)
	j, rest, err := scan(path, seq)
	if err != nil {
		return err
	}
	if rest {
		from, _, err := files.Open(path)
		if err != nil {
			return err
		}
		kept, err := io.ReadAll(io.LimitReader(from, j.size))
		if err := errors.Join(err, from.Close()); err != nil {
			return err
		}
		if err := f.replace(path, kept, nil); err != nil {
			return err
		}
	}
	w, err := disk.open(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.log.Adopt(path); err != nil {
		return errors.Join(err, w.Close())
	}
	f.lines = j
	f.lines.file = w
	return nil
}

// scan reads a journal and describes its lines up to the last one whose step number is at most seq. rest
// reports whether more lines follow. A missing file counts as empty.
func scan(path string, seq int) (j lines, rest bool, err error) {
	from, _, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, false, nil
	}
	if err != nil {
		return j, false, err
	}
	defer from.Close()
	at := int64(0)
	for e, err := range readEntries(from) {
		if err != nil {
			return j, false, err
		}
		at += e.size
		if rest = e.damage != nil || e.seq > seq; rest {
			continue
		}
		j.isComplete = e.isRun || j.isComplete && e.seq == j.last+1
		j.size, j.last = at, e.seq
	}
	return j, rest, nil
}

// writeLine appends a line to the journal and does not sync the file. what is a *Delta or a *Run, and seq
// is the number of the step, or of the run's last step.
func (f *File) writeLine(what any, seq int) error {
	data, err := state.Marshal(what)
	if err != nil {
		return err
	}
	if err := checkSize(data); err != nil {
		return err
	}
	line := encodeLine(data)
	if err := f.log.Append(f.path(Ext), line); err != nil {
		return err
	}
	if _, err := f.lines.file.WriteAt(line, f.lines.size); err != nil {
		return err
	}
	j, size := &f.lines, int64(len(line))
	_, isRun := what.(*state.Run)
	j.isComplete = isRun || j.isComplete && seq == j.last+1
	j.size, j.appended, j.last = j.size+size, j.appended+size, seq
	return nil
}

// newestLines returns the last lines of a journal, after a new line that contains the whole run before
// them. It drops all lines up to and including the first step whose line ends at or after the byte
// offset from. r is the run after the journal's last line.
func newestLines(path string, r *state.Run, from int64) ([]byte, error) {
	f, info, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	first, end := r, info.Size()
	for step, err := range pastSteps(f, r) {
		if err != nil {
			return nil, err
		}
		if step.end >= from {
			first, end = step.After(), step.end
			break
		}
	}
	data, err := state.Marshal(first)
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(io.NewSectionReader(f, end, info.Size()-end))
	return append(encodeLine(data), rest...), err
}

// castagnoli returns the table for CRC-32C. The table is computed when it is first used, because a run
// with a single state does not need it.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// encodeLine returns a line of a journal: a checksum, a space, data and a line break.
func encodeLine(data []byte) []byte {
	return slices.Concat([]byte(checksum(data)), []byte(" "), data, []byte("\n"))
}

// entry is a line of a journal, split into its fields.
type entry struct {
	n      int    // number of the line, from 1
	size   int64  // size in bytes, with the line break
	text   []byte // the whole line, valid until the next entry is read
	data   []byte // the JSON in the line
	isRun  bool   // whether the line contains a whole run instead of a step
	seq    int    // number of the step, or of the last step of the run
	damage error  // why the line contains neither a run nor a step; nil if it contains one
}

// readEntries returns the lines of a journal. If reading fails, the last element is the error.
func readEntries(from io.Reader) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		lines := bufio.NewScanner(from)
		lines.Buffer(make([]byte, 64<<10), maxFile+1<<10)
		lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			if i := bytes.IndexByte(data, '\n'); i >= 0 {
				return i + 1, data[:i+1], nil
			}
			if atEOF && len(data) > 0 {
				return len(data), data, nil
			}
			return 0, nil, nil
		})
		for n := 1; lines.Scan(); n++ {
			if !yield(parseLine(n, lines.Bytes()), nil) {
				return
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(entry{}, &state.FileError{What: fmt.Sprintf("has a line of more than %d bytes", maxFile)})
		} else if err != nil {
			yield(entry{}, err)
		}
	}
}

// parseLine parses line n of a journal. It stores an error in the field damage.
func parseLine(n int, text []byte) entry {
	e := entry{n: n, size: int64(len(text)), text: text}
	line, isWhole := bytes.CutSuffix(text, []byte("\n"))
	if !isWhole {
		e.damage = errors.New("is cut off")
		return e
	}
	if e.data, e.damage = checkedLine(line); e.damage != nil {
		return e
	}
	e.isRun = bytes.HasPrefix(e.data, []byte(`{"schema":`))
	// The number of a step is read without decoding all of the step.
	if rest, ok := bytes.CutPrefix(e.data, []byte(`{"progress":{"seq":`)); ok {
		digits, _, _ := bytes.Cut(rest, []byte(","))
		e.seq, _ = strconv.Atoi(string(digits))
	} else {
		var head struct {
			Progress struct {
				Seq int `json:"seq"`
			} `json:"progress"`
		}
		_ = json.Unmarshal(e.data, &head)
		e.seq = head.Progress.Seq
	}
	if e.seq < 1 && !e.isRun {
		e.damage = errors.New("contains neither a run nor a step")
	}
	return e
}

// checkedLine verifies the checksum at the beginning of a line and returns the data after it.
func checkedLine(line []byte) ([]byte, error) {
	sum, data, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(sum) != 8 {
		return nil, errors.New("has no checksum")
	}
	if string(sum) != checksum(data) {
		return nil, errors.New("does not match its checksum")
	}
	return data, nil
}

// checksum returns the CRC-32C of data as eight hexadecimal digits.
func checksum(data []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(data, castagnoli())) }

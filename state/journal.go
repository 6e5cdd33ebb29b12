package state

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
)

// The steps after the snapshot may reach maxGrowth times its size, and at least journalMin
// bytes, before a new snapshot is due. Snapshots therefore cost only a constant share of the bytes
// appended.
const (
	maxGrowth  = 8
	journalMin = 4 << 20
)

// DefaultHistory is the default maximum size of a journal, in bytes.
const DefaultHistory = 64 << 20

// JournalExt is the extension of a journal, after the id of its run.
const JournalExt = ".journal"

// journal describes the part of a run's journal file that was scanned or written. Each line is a
// step, or a whole run that makes the lines before it unnecessary.
type journal struct {
	file       writableFile // nil: scan the file before the next line is written
	size       int64        // bytes of its lines; nothing follows them
	last       int          // the step of the last line; 0 for none
	isComplete bool         // the journal ends with a whole run and all steps that followed it
	appended   int64        // bytes written since the last snapshot
}

// Append saves one step: it appends a line with a checksum to the journal and syncs the file. After
// it returns nil, the step survives a crash of the machine. After an error the caller must stop,
// since the step may or may not have been saved.
func (f *File) Append(d *Delta) error {
	err := f.openJournal(f.seq)
	if err == nil {
		err = f.writeLine(d, d.Progress.Seq)
	}
	if err == nil {
		err = f.journal.file.Sync()
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

// Full reports whether it is time for a new snapshot.
func (f *File) Full() bool { return f.journal.appended > max(journalMin, maxGrowth*f.snapshotSize) }

// appendBeforeSnapshot adds the step of a new snapshot to the journal, unless no history is kept. It
// writes d, or all of r if d can't follow the last line. The line need not be on the disk before the
// snapshot: a damaged last line counts as not written.
func (f *File) appendBeforeSnapshot(r *Run, d *Delta) error {
	known := f.seq
	if d == nil { // saved on another machine, together with the steps before it
		known = r.Progress.Seq
	}
	if err := f.openJournal(known); err != nil || f.maxHistory == 0 {
		return err
	}
	if j := &f.journal; d == nil || d.Progress.Seq != j.last+1 || !j.isComplete {
		return f.writeLine(r, r.Progress.Seq)
	}
	return f.writeLine(d, d.Progress.Seq)
}

// openJournal opens the journal and cuts off the lines after step seq. Such lines exist if a process
// died before it completed its snapshot, or if the file belongs to a run that was deleted.
func (f *File) openJournal(seq int) error {
	if f.journal.file != nil {
		return nil
	}
	path := f.path(JournalExt)
	j, rest, err := scan(path, seq)
	if err == nil && rest {
		err = f.truncateJournal(path, j.size)
	}
	if err != nil {
		return err
	}
	w, err := disk.open(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.log.Adopt(path); err != nil {
		return errors.Join(err, w.Close())
	}
	f.journal = j
	f.journal.file = w
	return nil
}

// truncateJournal truncates a journal to its first bytes, atomically.
func (f *File) truncateJournal(path string, size int64) error {
	from, _, err := files.Open(path)
	if err != nil {
		return err
	}
	kept, err := io.ReadAll(io.LimitReader(from, size))
	if err := errors.Join(err, from.Close()); err != nil {
		return err
	}
	return f.replace(path, kept, nil)
}

// scan reads a journal up to the last line whose step is not after seq. rest reports whether more
// lines follow.
func scan(path string, seq int) (j journal, rest bool, err error) {
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

// writeLine appends a line with a step or a run to the journal, without syncing. seq is its number.
func (f *File) writeLine(what any, seq int) error {
	data, err := marshal(what)
	if err != nil {
		return err
	}
	if err := checkSize(data); err != nil {
		return err
	}
	line := journalLine(data)
	if err := f.log.Append(f.path(JournalExt), line); err != nil {
		return err
	}
	if _, err := f.journal.file.WriteAt(line, f.journal.size); err != nil {
		return err
	}
	j, size := &f.journal, int64(len(line))
	_, isRun := what.(*Run)
	j.isComplete = isRun || j.isComplete && seq == j.last+1
	j.size, j.appended, j.last = j.size+size, j.appended+size, seq
	return nil
}

// shorten drops the oldest lines of the journal, so that about half of the maximum size remains. It
// puts the run before the remaining steps first. r is the run after the last line.
func (f *File) shorten(r *Run) error {
	old := f.journal.file
	f.journal.file = nil // the file will be replaced
	if err := old.Close(); err != nil {
		return err
	}
	path, keep := f.path(JournalExt), []byte(nil)
	if f.maxHistory > 0 {
		var err error
		if keep, err = newestLines(path, r, f.journal.size-f.maxHistory/2); err != nil {
			return err
		}
	}
	return f.replace(path, keep, nil)
}

// newestLines returns the lines of a journal that end at or after the offset from, with the run before them
// as the first line. r is the run after the last line.
func newestLines(path string, r *Run, from int64) ([]byte, error) {
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
	data, err := marshal(first)
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(io.NewSectionReader(f, end, info.Size()-end))
	return append(journalLine(data), rest...), err
}

// castagnoli is computed at first use, since a run of one state needs no table.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// journalLine returns a line of a journal: checksum, data and a line break.
func journalLine(data []byte) []byte {
	return slices.Concat([]byte(checksum(data)), []byte(" "), data, []byte("\n"))
}

// journalEntry is a line of a journal.
type journalEntry struct {
	n      int    // number of the line, from 1
	size   int64  // size in bytes, with the line break
	text   []byte // the whole line, valid until the next entry is read
	data   []byte // the JSON in the line
	isRun  bool   // the line has a whole run instead of a step
	seq    int    // number of the step, or of the last step of the run
	damage error  // why the line has neither a run nor a step
}

// readEntries returns the lines of a journal. A read error comes last.
func readEntries(from io.Reader) iter.Seq2[journalEntry, error] {
	return func(yield func(journalEntry, error) bool) {
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
			yield(journalEntry{}, &FileError{What: fmt.Sprintf("has a line of more than %d bytes", maxFile)})
		} else if err != nil {
			yield(journalEntry{}, err)
		}
	}
}

// parseLine parses line n of a journal. Errors are in the field damage.
func parseLine(n int, text []byte) journalEntry {
	e := journalEntry{n: n, size: int64(len(text)), text: text}
	line, isWhole := bytes.CutSuffix(text, []byte("\n"))
	if !isWhole {
		e.damage = errors.New("is cut off")
		return e
	}
	if e.data, e.damage = checkedLine(line); e.damage != nil {
		return e
	}
	e.isRun = bytes.HasPrefix(e.data, []byte(`{"schema":`))
	if e.seq = seqOf(e.data); e.seq < 1 && !e.isRun {
		e.damage = errors.New("contains neither a run nor a step")
	}
	return e
}

// checkedLine returns the part of a line after its checksum.
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

// seqOf returns the number of a step, or of the last step of a run, without decoding all of it. It
// returns 0 for other data.
func seqOf(data []byte) int {
	if rest, ok := bytes.CutPrefix(data, []byte(`{"progress":{"seq":`)); ok {
		digits, _, _ := bytes.Cut(rest, []byte(","))
		n, _ := strconv.Atoi(string(digits))
		return n
	}
	var head struct {
		Progress struct {
			Seq int `json:"seq"`
		} `json:"progress"`
	}
	_ = json.Unmarshal(data, &head)
	return head.Progress.Seq
}

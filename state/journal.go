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

// foldFactor says how many times the size of the snapshot the steps after it may reach
// before a new one is due. Below foldMin none is. Folding therefore costs no more than
// a constant share of what was appended.
const (
	foldFactor = 8
	foldMin    = 4 << 20
)

// DefaultHistory is how many bytes a journal keeps where nobody says otherwise.
const DefaultHistory = 64 << 20

// JournalExt is the extension of the file with the steps of a run, after its id.
const JournalExt = ".journal"

// journal is the file with the steps of a run, as far as it was surveyed or written. Each line
// has a step, or a whole run from which what follows is to be understood.
type journal struct {
	file     opened // nil: it is to be surveyed before the next line
	size     int64  // bytes of its lines; after them comes nothing
	last     int    // the step of the last line; 0 for none
	whole    bool   // the last lines are a whole run and all steps that have followed it
	unfolded int64  // bytes since the last snapshot
}

// Append saves one step: one line of the journal, with a checksum, synced.
// After it returns nil the step survives a crash of the machine; after an error
// the caller must stop, since the step may or may not have been saved.
func (f *File) Append(d *Delta) error {
	err := f.openJournal(f.seq)
	if err == nil {
		err = f.write(d, d.Progress.Seq)
	}
	if err == nil {
		err = f.journal.file.Sync()
	}
	if err == nil && !f.entered {
		err = disk.syncDir(f.dir)
	}
	if err != nil {
		return fmt.Errorf("save step: %w", err)
	}
	f.seq, f.entered = d.Progress.Seq, true
	return nil
}

// Full reports whether it is time for a new snapshot.
func (f *File) Full() bool { return f.journal.unfolded > max(foldMin, foldFactor*f.snapshot) }

// note adds the step that a new snapshot is about to have to the journal, if steps are kept: d, or where that can't
// follow the last line, all of r. It need not be on the disk before the snapshot is: a last line
// that is damaged counts as not written.
func (f *File) note(r *Run, d *Delta) error {
	known := f.seq
	if d == nil { // of another machine, with the steps that have led to it there
		known = r.Progress.Seq
	}
	if err := f.openJournal(known); err != nil || f.most == 0 {
		return err
	}
	if j := &f.journal; d == nil || d.Progress.Seq != j.last+1 || !j.whole {
		return f.write(r, r.Progress.Seq)
	}
	return f.write(d, d.Progress.Seq)
}

// openJournal opens the journal and cuts off what follows the step that the run has: a process
// died before its snapshot took the place of the one before, or the file is of a run that is gone.
func (f *File) openJournal(seq int) error {
	if f.journal.file != nil {
		return nil
	}
	path := f.path(JournalExt)
	j, rest, err := survey(path, seq)
	if err == nil && rest {
		err = f.cut(path, j.size)
	}
	if err != nil {
		return err
	}
	w, err := disk.open(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.seal.Adopt(path); err != nil {
		return errors.Join(err, w.Close())
	}
	f.journal = j
	f.journal.file = w
	return nil
}

// cut replaces a journal by its first bytes.
func (f *File) cut(path string, size int64) error {
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

// survey looks through a journal up to the last line whose step is not after seq, and reports
// whether something follows it.
func survey(path string, seq int) (j journal, rest bool, err error) {
	from, _, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, false, nil
	}
	if err != nil {
		return j, false, err
	}
	defer from.Close()
	at := int64(0)
	for e, err := range entries(from) {
		if err != nil {
			return j, false, err
		}
		at += e.size
		if rest = e.damage != nil || e.seq > seq; rest {
			continue
		}
		j.whole = e.isRun || j.whole && e.seq == j.last+1
		j.size, j.last = at, e.seq
	}
	return j, rest, nil
}

// write writes a line with a step or a run, whose number is seq. It is not synced.
func (f *File) write(what any, seq int) error {
	data, err := marshal(what)
	if err != nil {
		return err
	}
	if err := checkSize(data); err != nil {
		return err
	}
	line := journalLine(data)
	if err := f.seal.Append(f.path(JournalExt), line); err != nil {
		return err
	}
	if _, err := f.journal.file.WriteAt(line, f.journal.size); err != nil {
		return err
	}
	j, size := &f.journal, int64(len(line))
	_, isRun := what.(*Run)
	j.whole = isRun || j.whole && seq == j.last+1
	j.size, j.unfolded, j.last = j.size+size, j.unfolded+size, seq
	return nil
}

// shorten replaces the oldest lines by one with the run after them, so that about half as much is
// kept as may be. r is the run after the last line.
func (f *File) shorten(r *Run) error {
	old := f.journal.file
	f.journal.file = nil // it will be another one
	if err := old.Close(); err != nil {
		return err
	}
	path, keep := f.path(JournalExt), []byte(nil)
	if f.most > 0 {
		var err error
		if keep, err = newest(path, r, f.journal.size-f.most/2); err != nil {
			return err
		}
	}
	return f.replace(path, keep, nil)
}

// newest returns the lines of a journal that end after a place, with the run that they follow
// before them. r is the run after the last one.
func newest(path string, r *Run, from int64) ([]byte, error) {
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

// castagnoli is made when it is first needed, which is never in a run of one state.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func journalLine(data []byte) []byte {
	return slices.Concat([]byte(checksum(data)), []byte(" "), data, []byte("\n"))
}

// entry is a line of a journal.
type entry struct {
	n      int    // of the line, from 1
	size   int64  // bytes, with its line break
	text   []byte // all of it, valid until the next entry is asked for
	data   []byte // the JSON in it
	isRun  bool   // it holds a whole run, and no step
	seq    int    // the step, or the last one of the run
	damage error  // why it holds neither
}

// entries returns the lines of a journal. An error is the last one.
func entries(from io.Reader) iter.Seq2[entry, error] {
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
			yield(entry{}, &FileError{What: fmt.Sprintf("has a line of more than %d bytes", maxFile)})
		} else if err != nil {
			yield(entry{}, err)
		}
	}
}

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
	if e.seq = seqOf(e.data); e.seq < 1 && !e.isRun {
		e.damage = errors.New("holds neither a run nor a step")
	}
	return e
}

// checkedLine returns what a line has after its checksum.
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

func checksum(data []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(data, castagnoli())) }

// seqOf returns the number of a step, or of the last step of a run, without a look at the rest;
// 0 when there is none.
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

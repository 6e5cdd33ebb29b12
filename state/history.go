package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// DefaultHistory is how many bytes of its history a run keeps where nobody says otherwise.
const DefaultHistory = 64 << 20

// HistoryExt is the extension of the file with the history of a run, after its id.
const HistoryExt = ".history"

// How the lines of a history begin, after their checksum.
const (
	snapshotHead = `{"snapshot":`
	deltaHead    = `{"delta":`
)

// history is the file with all steps of a run: lines with a checksum each, which hold a whole
// run or a step. It is written beside the snapshot, and complete up to the step of the snapshot
// before the new one takes its place. A run never fails because of it: where a line can't be
// written, the next one is a whole run.
type history struct {
	path    string
	journal string // path of the journal
	most    int64  // bytes
	seal    Seal
	file    *os.File
	size    int64 // of the file; after it comes nothing
	last    int   // the step of the last line; 0 for none
	since   int64 // bytes after the last whole run
}

// fold adds the steps that lead to r: those of the journal, then d. When that is nil r need not
// be what they lead to, as that of another machine, and is added as a whole. folded is the step
// of the snapshot that is on disk.
func (h *history) fold(r *Run, d *Delta, folded int) error {
	if h.most == 0 {
		return ignoreMissing(os.Remove(h.path))
	}
	if h.file == nil {
		if err := h.open(folded); err != nil {
			return err
		}
	}
	lines, err := h.lines(r, d)
	if err == nil {
		err = h.write(lines)
	}
	if err == nil && h.size > h.most {
		err = h.shorten(r)
	}
	if err != nil {
		return errors.Join(err, h.close()) // the next fold looks at the file anew
	}
	return nil
}

// lines returns what fold adds.
func (h *history) lines(r *Run, d *Delta) ([]byte, error) {
	lines := &bytes.Buffer{}
	journal, _, err := files.Read(h.journal, maxFile)
	if err := ignoreMissing(err); err != nil {
		return nil, err
	}
	h.last = addSteps(lines, journal, h.last, math.MaxInt)
	if d != nil && d.Progress.Seq == h.last+1 {
		if err := h.add(lines, deltaHead, d, d.Progress.Seq); err != nil {
			return nil, err
		}
	}
	h.since += int64(lines.Len())
	if d != nil && h.last == r.Progress.Seq && h.size > 0 && h.since <= h.most/8 {
		return lines.Bytes(), nil
	}
	before := lines.Len()
	if err := h.add(lines, snapshotHead, r, r.Progress.Seq); err != nil {
		return nil, err
	}
	h.since = 0
	if h.size == 0 {
		return lines.Bytes()[before:], nil
	}
	return lines.Bytes(), nil
}

func (h *history) close() error {
	if h.file == nil {
		return nil
	}
	f := h.file
	h.file = nil
	return f.Close()
}

// open opens the file and cuts off what follows the step that is on disk: a process was killed
// before its snapshot took the place of the one before.
func (h *history) open(folded int) error {
	f, _, err := files.OpenFile(h.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	size, last, err := tail(f, folded)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		err = h.seal.Adopt(h.path)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	h.file, h.size, h.last, h.since = f, size, last, size
	return nil
}

// tail returns the length of a history up to the last whole line whose step is not after the
// folded one, and that step; 0 and 0 when there is none.
func tail(from io.Reader, folded int) (size int64, last int, err error) {
	at := int64(0)
	for line, err := range fileLines(from) {
		if err != nil {
			return 0, 0, err
		}
		at += int64(len(line)) + 1
		_, data, bad := historyData(line)
		if seq := seqOf(data); bad == nil && seq > 0 && seq <= folded {
			size, last = at, seq
		}
	}
	return size, last, nil
}

// addSteps adds the steps of a journal that follow step last, up to step most, and returns the
// last one. What is damaged, and what then follows, is left out.
func addSteps(to *bytes.Buffer, journal []byte, last, most int) int {
	for line := range bytes.Lines(journal) {
		data, err := checkedLine(bytes.TrimSuffix(line, []byte("\n")))
		if err == nil && last < most && seqOf(data) == last+1 {
			putLine(to, deltaHead, data)
			last++
		}
	}
	return last
}

// add adds a line with a step, or with a whole run.
func (h *history) add(to *bytes.Buffer, head string, what any, seq int) error {
	data, err := marshal(what)
	if err != nil {
		return err
	}
	putLine(to, head, data)
	h.last = seq
	return nil
}

func putLine(to *bytes.Buffer, head string, data []byte) {
	table := castagnoli()
	sum := crc32.Update(0, table, []byte(head))
	sum = crc32.Update(crc32.Update(sum, table, data), table, []byte("}"))
	fmt.Fprintf(to, "%08x %s", sum, head)
	to.Write(data)
	to.WriteString("}\n")
}

func (h *history) write(data []byte) error {
	if err := h.seal.Append(h.path, data); err != nil {
		return err
	}
	if _, err := h.file.WriteAt(data, h.size); err != nil {
		return err
	}
	h.size += int64(len(data))
	return h.file.Sync()
}

// shorten replaces the oldest lines by a whole run that follows them, so that about half as
// much is kept as may be.
func (h *history) shorten(r *Run) error {
	keep := &bytes.Buffer{}
	from, err := h.oldest(h.size - h.most/2)
	if err != nil {
		return err
	}
	if from < h.size {
		_, err = io.Copy(keep, io.NewSectionReader(h.file, from, h.size-from))
	} else {
		err = h.add(keep, snapshotHead, r, r.Progress.Seq)
	}
	if err != nil {
		return err
	}
	if err := h.seal.Replace(h.path, keep.Bytes()); err != nil {
		return err
	}
	tmp := h.path + ".tmp"
	if err := ignoreMissing(os.Remove(tmp)); err != nil {
		return err
	}
	if err := files.WriteNew(tmp, keep.Bytes(), 0o600); err != nil {
		return err
	}
	if err := os.Rename(tmp, h.path); err != nil {
		return err
	}
	if err := h.seal.Done(h.path); err != nil {
		return err
	}
	return h.close()
}

// oldest returns where the first whole run begins that is not before a place; the size of the
// file when there is none.
func (h *history) oldest(from int64) (int64, error) {
	at := int64(0)
	for line, err := range fileLines(io.NewSectionReader(h.file, 0, h.size)) {
		if err != nil {
			return 0, err
		}
		if at >= from && bytes.HasPrefix(line[min(9, len(line)):], []byte(snapshotHead)) {
			return at, nil
		}
		at += int64(len(line)) + 1
	}
	return h.size, nil
}

// historyData returns what a line of a history holds: a step, or a whole run.
func historyData(line []byte) (isRun bool, data []byte, err error) {
	data, err = checkedLine(line)
	if err != nil {
		return false, nil, err
	}
	for _, head := range []string{snapshotHead, deltaHead} {
		if inner, ok := bytes.CutPrefix(data, []byte(head)); ok && bytes.HasSuffix(inner, []byte("}")) {
			return head == snapshotHead, inner[:len(inner)-1], nil
		}
	}
	return false, nil, fmt.Errorf("holds neither a run nor a step")
}

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

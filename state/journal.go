package state

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"iter"
	"os"
	"strconv"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// foldFactor says how many times the size of the snapshot the journal may reach
// before it is folded. Below foldMin it never is. Folding therefore costs no more than
// a constant share of what was appended.
const (
	foldFactor = 8
	foldMin    = 4 << 20
)

// castagnoli is made when it is first needed, which is never in a run of one state.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Append saves one step: one line of the journal, with a checksum, synced.
// After it returns nil the step survives a crash of the machine; after an error
// the caller must stop, since the step may or may not have been saved.
func (f *File) Append(d *Delta) error {
	line, err := journalLine(d)
	if err != nil {
		return fmt.Errorf("encode step: %w", err)
	}
	if err := f.openJournal(); err != nil {
		return fmt.Errorf("save step: %w", err)
	}
	if err := f.seal.Append(f.path(".journal"), line); err != nil {
		return fmt.Errorf("save step: %w", err)
	}
	if err := writeSync(f.journal, line); err != nil {
		return fmt.Errorf("save step: %w", err)
	}
	f.size += int64(len(line))
	return nil
}

// Full reports whether the journal is due to be folded into the snapshot.
func (f *File) Full() bool { return f.size > max(foldMin, foldFactor*f.snapshot) }

func (f *File) openJournal() error {
	if f.journal != nil {
		return nil
	}
	// Opened by the first step after a Fold, which has emptied it.
	w, err := disk.open(f.path(".journal"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	f.journal = w
	return disk.syncDir(f.dir)
}

func journalLine(d *Delta) ([]byte, error) {
	data, err := marshal(d)
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(nil, "%08x ", crc32.Checksum(data, castagnoli()))
	return append(append(line, data...), '\n'), nil
}

// replay applies the steps of a journal that come after the run.
func replay(r *Run, journal []byte) error {
	applied := false
	for d, err := range following(r, journal) {
		if err != nil {
			return err
		}
		r.Apply(d)
		applied = true
	}
	if !applied {
		return nil
	}
	return r.Validate()
}

// following returns the steps of a journal that come after the run, to which the caller applies
// each before it asks for the next one. A last line that was cut off counts as not written; any
// other damage is a *FileError, and the last of what is returned.
func following(r *Run, journal []byte) iter.Seq2[*Delta, error] {
	return func(yield func(*Delta, error) bool) {
		first := true
		for n := 1; len(journal) > 0; n++ {
			line, rest, whole := bytes.Cut(journal, []byte("\n"))
			d, err := parseLine(line)
			journal = rest
			switch {
			case err != nil && (!whole || len(rest) == 0):
				return
			case err != nil:
			case d.Progress.Seq <= r.Progress.Seq && first:
				continue // already in the snapshot: a crash came before the journal was emptied
			case d.Progress.Seq != r.Progress.Seq+1:
				err = fmt.Errorf("is step %d, want %d", d.Progress.Seq, r.Progress.Seq+1)
			default:
				err = d.checkFollows(r)
			}
			if err != nil {
				yield(nil, &FileError{Field: fmt.Sprintf("line %d", n), What: err.Error()})
				return
			}
			if first = false; !yield(d, nil) {
				return
			}
		}
	}
}

// checkFollows returns an error when the step can't be the one after r: agents are in the order
// of their numbers, and the number of an agent never changes.
func (d *Delta) checkFollows(r *Run) error {
	r.index()
	last, seen := 0, map[string]bool{}
	if n := len(r.Agents); n > 0 {
		last = r.Agents[n-1].N
	}
	for i, a := range d.Agents {
		was, known := r.byID[a.ID]
		switch {
		case seen[a.ID]:
			return fmt.Errorf("agents[%d].id: %q appears twice", i, a.ID)
		case known && a.N != was.N:
			return fmt.Errorf("agents[%d].n: is %d, was %d", i, a.N, was.N)
		case !known && a.N <= last:
			return fmt.Errorf("agents[%d].n: is %d, want more than %d", i, a.N, last)
		}
		seen[a.ID], last = true, max(last, a.N)
	}
	return nil
}

func parseLine(line []byte) (*Delta, error) {
	data, err := checkedLine(line)
	if err != nil {
		return nil, err
	}
	d := new(Delta)
	if err := invalid(jsonstrict.Decode(data, d)); err != nil {
		return nil, err
	}
	return d, nil
}

// checkedLine returns what a line has after its checksum.
func checkedLine(line []byte) ([]byte, error) {
	sum, data, ok := bytes.Cut(line, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !ok || err != nil || len(sum) != 8 {
		return nil, fmt.Errorf("has no checksum")
	}
	if crc32.Checksum(data, castagnoli()) != uint32(want) {
		return nil, fmt.Errorf("does not match its checksum")
	}
	return data, nil
}

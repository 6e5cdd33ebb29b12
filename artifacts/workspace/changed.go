package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Change is a file that a state execution has changed.
type Change struct {
	Path string // in the repository, with slashes
	What string // "added", "changed" or "deleted"
	// Diff is what a unified diff has of it from its first "@@" on; of what has no lines
	// it is "". IsCut says that it is longer.
	Diff     string
	IsCut    bool
	IsBinary bool // it has no lines, or more than a MiB

	isTwice bool // the diff has it twice: what was there is deleted, and something else is added
}

// maxChanges is how many files of a snapshot are told.
const maxChanges = 10_000

// emptyTree is the id of the tree without entries.
func emptyTree(format string) string {
	for id := range emptyTrees {
		if isID(id, format) {
			return id
		}
	}
	return ""
}

// Changed returns the files of a worktree that are not as they were at the snapshot before,
// without diffs and at most ten thousand. It fails with ErrNoSnapshot where there is none of
// the state execution, or none that it could be compared with.
func (s *Snapshots) Changed(ctx context.Context, exec int) ([]Change, error) {
	t, one, err := s.at(ctx, exec)
	if err != nil {
		return nil, err
	}
	defer t.close()
	changes, _, err := t.changed(ctx, one)
	return changes, err
}

// Diff is Changed with diffs: of a file at most each bytes, of all at most limit.
func (s *Snapshots) Diff(ctx context.Context, exec int, each, limit int64) ([]Change, error) {
	t, one, err := s.at(ctx, exec)
	if err != nil {
		return nil, err
	}
	defer t.close()
	changes, trees, err := t.changed(ctx, one)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	return changes, t.diffs(ctx, trees, changes, sizesOf{each, limit})
}

// at finds a snapshot. The tool has to be closed.
func (s *Snapshots) at(ctx context.Context, exec int) (*shotTool, *Snapshot, error) {
	t, err := s.open()
	if err != nil {
		return nil, nil, err
	}
	if t == nil {
		return nil, nil, ErrNoSnapshot
	}
	one, err := t.of(ctx, exec)
	if err != nil {
		t.close()
		return nil, nil, err
	}
	return t, one, nil
}

// pair are the trees with the files before and after.
type pair struct{ from, to string }

// pair finds what is compared.
func (t *shotTool) pair(ctx context.Context, s *Snapshot) (pair, error) {
	if s.After > 0 && s.from == "" {
		return pair{}, fmt.Errorf("state execution %d: %w to compare it with", s.Exec, ErrNoSnapshot)
	}
	names := []string{s.commit + ":0/work", s.from + ":0/work"}
	if s.from == "" {
		names[1] = s.Base + "^{tree}"
	}
	needs := []string{s.commit, s.from + s.Base}
	c := t.call()
	c.in = text(strings.Join(append(needs, names...), "\n") + "\n")
	out, err := t.output(ctx, c, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return pair{}, err
	}
	lines := strings.Split(string(out), "\n")
	if len(lines) < len(needs)+len(names) {
		return pair{}, errors.New("git cat-file says too little")
	}
	for i, id := range needs {
		if id != "" && lines[i] != id+" commit" {
			return pair{}, fmt.Errorf("state execution %d: %w to compare it with", s.Exec, ErrNoSnapshot)
		}
	}
	ids := make([]string, 2)
	for i, line := range lines[2:4] {
		id, what, _ := strings.Cut(line, " ")
		if ids[i] = id; what != "tree" { // there were no files
			ids[i] = emptyTree(s.Format)
		}
	}
	return pair{ids[1], ids[0]}, nil
}

var changeNames = map[byte]string{'A': "added", 'M': "changed", 'T': "changed", 'D': "deleted"}

// changed lists the files that differ.
func (t *shotTool) changed(ctx context.Context, s *Snapshot) ([]Change, pair, error) {
	p, err := t.pair(ctx, s)
	if err != nil {
		return nil, pair{}, err
	}
	out, err := t.output(ctx, t.call(), "diff-tree", "-r", "-z", "--no-renames", "--name-status", p.from, p.to)
	if err != nil {
		return nil, pair{}, err
	}
	var all []Change
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields) && len(all) < maxChanges; i += 2 {
		if what := changeNames[(fields[i] + " ")[0]]; what != "" {
			all = append(all, Change{Path: fields[i+1], What: what, isTwice: fields[i] == "T"})
		}
	}
	return all, p, nil
}

// sizesOf bound diffs, in bytes.
type sizesOf struct{ each, all int64 }

// diffs adds the diffs. Git writes them in the order of the changes.
func (t *shotTool) diffs(ctx context.Context, p pair, changes []Change, most sizesOf) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := readDiffs(r, &differ{changes: changes, most: most, at: -1})
		r.CloseWithError(errFull) // git is not left writing to a reader that has enough
		done <- err
	}()
	c := t.call()
	c.out, c.settings = w, []setting{{"core.bigFileThreshold", "1m"}}
	err := t.run(ctx, c, "diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=3", p.from, p.to)
	w.CloseWithError(io.EOF)
	if readErr := <-done; ctx.Err() == nil && errors.Is(readErr, errFull) {
		return nil
	}
	return err
}

// differ gives the lines of diffs to the changes that they are of.
type differ struct {
	changes  []Change
	most     sizesOf
	at       int // the change that is read; -1 before the first
	isSecond bool
	isBody   bool
	isCut    bool
	text     bytes.Buffer
}

// readDiffs reads the diffs of changes. It returns errFull when it has no room for more.
func readDiffs(from io.Reader, d *differ) error {
	lines := bufio.NewReaderSize(from, 1<<16)
	isStart := true // of a line
	for {
		part, err := lines.ReadSlice('\n')
		if len(part) > 0 {
			d.part(part, isStart)
			isStart = part[len(part)-1] == '\n'
		}
		if errors.Is(err, io.EOF) {
			d.finish()
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if d.isFull() {
			return errFull
		}
	}
}

// part takes a line, or a part of a long one.
func (d *differ) part(part []byte, isStart bool) {
	isHeader := isStart && bytes.HasPrefix(part, []byte("diff --git "))
	switch {
	case isHeader:
		d.next()
	case d.at < 0 || d.at >= len(d.changes):
	case d.isBody || isStart && bytes.HasPrefix(part, []byte("@@ ")):
		d.isBody = true
		d.add(part)
	case isStart && bytes.HasPrefix(part, []byte("Binary files ")):
		d.changes[d.at].IsBinary = true
	}
}

// add keeps a part of a diff. What there is no room for is cut, at the end of a line.
func (d *differ) add(part []byte) {
	if d.isCut {
		return
	}
	if int64(d.text.Len()+len(part)) > min(d.most.each, d.most.all) {
		d.isCut = true
		d.text.Truncate(bytes.LastIndexByte(d.text.Bytes(), '\n') + 1)
		return
	}
	d.text.Write(part)
}

// next begins the diff of the next change, or the second one of the same.
func (d *differ) next() {
	d.isBody = false
	if d.at >= 0 && d.at < len(d.changes) && d.changes[d.at].isTwice && !d.isSecond {
		d.isSecond = true
		return
	}
	d.finish()
	d.at, d.isSecond = d.at+1, false
}

// finish ends the diff of a change.
func (d *differ) finish() {
	if d.at < 0 || d.at >= len(d.changes) {
		return
	}
	c := &d.changes[d.at]
	c.Diff, c.IsCut = d.text.String(), d.isCut
	d.most.all -= int64(d.text.Len())
	d.text.Reset()
	d.isCut = false
}

// isFull reports whether there is no room for more, and then says so of all that has not
// been read.
func (d *differ) isFull() bool {
	if d.at >= len(d.changes) {
		return true // they were too many to be told
	}
	if !d.isCut || d.most.all > d.most.each {
		return false
	}
	d.finish()
	for i := d.at + 1; i < len(d.changes); i++ {
		d.changes[i].IsCut = true
	}
	return true
}

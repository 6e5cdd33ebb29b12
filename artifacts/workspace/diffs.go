package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// diffs adds diffs. Git writes them in the order of the snapshots and of their files.
func (t *shotTool) diffs(ctx context.Context, c call, d *differ) error {
	c.settings = []setting{{"core.bigFileThreshold", "1m"}}
	return t.git.piped(ctx, c, d.readAll,
		"diff-tree", "--stdin", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=3")
}

// differ gives the lines of diffs to the files that they are of.
type differ struct {
	all   []*compared
	most  Most
	which int   // the snapshot that is read; -1 before the first
	at    int   // its file; -1 before the first
	left  int64 // bytes for the rest of its files

	isSecond bool // of the two diffs of a file
	isBody   bool
	isCut    bool
	text     bytes.Buffer
}

// readAll reads the diffs. It returns errFull when it has no room for more.
func (d *differ) readAll(from io.Reader) error {
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
		if d.most.All <= 0 {
			d.cutRest()
			return errFull
		}
	}
}

// part takes a line, or a part of a long one. The lines of a file begin with a sign.
func (d *differ) part(part []byte, isStart bool) {
	switch {
	case isStart && d.which+1 < len(d.all) && string(part) == d.all[d.which+1].line:
		d.finish()
		d.which, d.at, d.left = d.which+1, -1, d.most.Execution
	case isStart && bytes.HasPrefix(part, []byte("diff --git ")):
		d.nextFile()
	case d.file() == nil:
	case d.isBody || isStart && bytes.HasPrefix(part, []byte("@@ ")):
		d.isBody = true
		d.add(part)
	case isStart && bytes.HasPrefix(part, []byte("Binary files ")):
		d.file().IsBinary = true
	}
}

// file is the one that is read; nil for none.
func (d *differ) file() *Change {
	if d.which < 0 || d.at < 0 || d.at >= len(d.all[d.which].files) {
		return nil
	}
	return &d.all[d.which].files[d.at]
}

// add keeps a part of a diff. What there is no room for is cut, at the end of a line.
func (d *differ) add(part []byte) {
	if d.isCut {
		return
	}
	if int64(d.text.Len()+len(part)) > min(d.most.File, d.left, d.most.All) {
		d.isCut = true
		d.text.Truncate(bytes.LastIndexByte(d.text.Bytes(), '\n') + 1)
		return
	}
	d.text.Write(part)
}

// nextFile begins the diff of the next file, or the second one of the same.
func (d *differ) nextFile() {
	d.isBody = false
	if f := d.file(); f != nil && f.isTwice && !d.isSecond {
		d.isSecond = true
		return
	}
	d.finish()
	d.at, d.isSecond = d.at+1, false
}

// finish ends the diff of a file.
func (d *differ) finish() {
	if f := d.file(); f != nil {
		f.Diff, f.IsCut = d.text.String(), d.isCut
		d.left -= int64(d.text.Len())
		d.most.All -= int64(d.text.Len())
		if d.isCut && d.most.All < min(d.most.File, d.left) {
			d.most.All = 0 // others need as much
		}
	}
	d.text.Reset()
	d.isCut, d.isBody = false, false
}

// cutRest says of all that has not been read that it is cut.
func (d *differ) cutRest() {
	from := d.at
	for _, c := range d.all[max(d.which, 0):] {
		for i := max(from, 0); i < len(c.files); i++ {
			f := &c.files[i]
			f.IsCut = f.IsCut || f.Diff == "" && !f.IsBinary
		}
		from = 0
	}
}

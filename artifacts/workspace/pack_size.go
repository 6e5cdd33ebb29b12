package workspace

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A small pack can contain gigabytes of zeros. So the inflated size of a pack is checked before git reads
// the pack, and the sizes of files are checked before they are written.

// inflatedFactor limits the inflated size of a pack, and the size of the files that a restore writes: each
// may be this many times larger than the limit on packed bytes.
const inflatedFactor = 8

// Limits on the objects in a pack.
const (
	maxObjects = 8 << 20   // number of objects; git holds some data about each in memory
	maxHeld    = 512 << 20 // size of one object that git reads into memory completely: all except blobs that are not deltas
)

// inflatedError is the error for a pack, an object or files that would be too large when unpacked.
type inflatedError struct {
	what string
	most int64
}

func (e *inflatedError) Error() string {
	return e.what + " more than " + formatBytes(e.most) + " when unpacked"
}

// Object types of a pack that need special treatment.
const (
	blobObject  = 3
	offsetDelta = 6
	nameDelta   = 7
)

// pack reads a pack file. Its memory use doesn't depend on the size of the pack.
type pack struct {
	r       *bufio.Reader
	inflate io.ReadCloser // nil before the first object
	largest int64         // maximum size of one object
}

// inflatedSize returns the total size of a pack's inflated objects. A delta counts with its own size. The
// error is an *inflatedError if one object has more than largest bytes, or if all objects together have
// more than most bytes. inflatedSize leaves all other checks to git.
func inflatedSize(from io.Reader, largest, most int64) (int64, error) {
	p := &pack{r: bufio.NewReaderSize(from, 1<<16), largest: largest}
	var head struct {
		Magic   [4]byte
		Version uint32
		Objects uint32
	}
	if err := binary.Read(p.r, binary.BigEndian, &head); err != nil || string(head.Magic[:]) != "PACK" {
		return 0, errors.New("it is not a pack")
	}
	if head.Objects > maxObjects {
		return 0, fmt.Errorf("it has %d objects, but at most %d are allowed", head.Objects, maxObjects)
	}
	var all int64
	for range head.Objects {
		size, err := p.object()
		if err != nil {
			return 0, err
		}
		if all += size; all > most {
			return 0, &inflatedError{"all objects have", most}
		}
	}
	return all, nil
}

// object reads one object without storing it, and returns its size.
func (p *pack) object() (int64, error) {
	first, err := p.r.ReadByte()
	if err != nil {
		return 0, err
	}
	kind, size := first>>4&7, int64(first&15)
	if first >= 0x80 {
		rest, err := binary.ReadUvarint(p.r)
		if err != nil {
			return 0, err
		}
		if rest > 1<<58 {
			return 0, errors.New("its size is invalid")
		}
		size |= int64(rest) << 4
	}
	most := p.largest
	if kind != blobObject {
		most = min(most, maxHeld)
	}
	if size > most {
		return 0, &inflatedError{"an object has", most}
	}
	switch kind {
	case offsetDelta:
		// The offset of the delta's base is skipped. Git encodes it differently from the varints of package
		// binary, but it ends at the same byte.
		_, err = binary.ReadUvarint(p.r)
	case nameDelta:
		_, err = p.r.Discard(sha1.Size)
	}
	if err != nil {
		return 0, err
	}
	if p.inflate == nil {
		p.inflate, err = zlib.NewReader(p.r)
	} else {
		err = p.inflate.(zlib.Resetter).Reset(p.r, nil)
	}
	if err != nil {
		return 0, err
	}
	in := io.Reader(p.inflate)
	if kind == offsetDelta || kind == nameDelta {
		if in, err = p.delta(size); err != nil {
			return 0, err
		}
	}
	// Reading one more byte than the header says shows whether the object is larger.
	n, err := io.Copy(io.Discard, io.LimitReader(in, size+1))
	if err == nil && n != size {
		err = errors.New("its size differs from its header")
	}
	return size, err
}

// delta reads the two sizes at the start of a delta: the size of its base and the size of its result. It
// returns a reader of the whole delta.
func (p *pack) delta(size int64) (io.Reader, error) {
	start := make([]byte, min(size, 2*binary.MaxVarintLen64))
	if _, err := io.ReadFull(p.inflate, start); err != nil {
		return nil, err
	}
	_, n := binary.Uvarint(start)
	result, m := binary.Uvarint(start[max(n, 0):])
	if n <= 0 || m <= 0 {
		return nil, errors.New("it is not a delta")
	}
	if most := min(p.largest, maxHeld); result > uint64(most) {
		return nil, &inflatedError{"an object has", most}
	}
	return io.MultiReader(bytes.NewReader(start), p.inflate), nil
}

// checkFileSizes adds up the sizes of the files that will be written, because a single small object can be
// the content of thousands of files. The error is an *inflatedError if the sum exceeds the limit.
func (w *restorer) checkFileSizes(ctx context.Context, p *plan, t *treePlan) error {
	var ids []string
	for _, path := range t.write {
		ids = append(ids, t.want.work[path].id)
	}
	lines, err := w.git.objects(ctx, call{dir: p.common, bare: p.common}, "%(objectsize)", ids)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if n, err := strconv.ParseInt(line, 10, 64); err == nil { // otherwise the object is missing, and reading it will fail
			w.written += n
		}
		if most := w.limit * inflatedFactor; w.written > most {
			return &inflatedError{"the files of the saved work have", most}
		}
	}
	return nil
}

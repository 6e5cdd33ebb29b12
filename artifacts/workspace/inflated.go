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

// A pack is small, and what it holds may not be: gigabytes of zeros have a few
// megabytes there. So packs are weighed as inflated before git reads them, and files
// before they are written.

// inflatedFactor is how much larger than its limit a pack may be when it is inflated,
// and so may all files that a restore writes.
const inflatedFactor = 8

// Limits on a pack, whatever limit it has in bytes.
const (
	maxObjects = 8 << 20   // git holds something of each in memory
	maxHeld    = 512 << 20 // of what git holds in memory as a whole: all but blobs that are no deltas
)

// inflatedError says that something would be too large.
type inflatedError struct {
	what string
	most int64
}

func (e *inflatedError) Error() string {
	return e.what + " more than " + sizes(e.most) + " when unpacked"
}

// The types of objects in a pack that are treated apart.
const (
	blobObject  = 3
	offsetDelta = 6
	nameDelta   = 7
)

// pack is one that is being weighed. It needs the same small amount of memory for any.
type pack struct {
	r       *bufio.Reader
	inflate io.ReadCloser // nil before the first object
	largest int64         // bytes that one object may have
}

// weighPack returns how many bytes a pack has when its objects are inflated, deltas as
// such, and fails with an *inflatedError where an object has more than largest, or all
// have more than most. Nothing else of the pack is checked: git does that.
func weighPack(from io.Reader, largest, most int64) (int64, error) {
	p := &pack{r: bufio.NewReaderSize(from, 1<<16), largest: largest}
	var head struct {
		Magic   [4]byte
		Version uint32
		Objects uint32
	}
	if err := binary.Read(p.r, binary.BigEndian, &head); err != nil || string(head.Magic[:]) != "PACK" {
		return 0, errors.New("it has no pack of objects")
	}
	if head.Objects > maxObjects {
		return 0, fmt.Errorf("it has %d objects, want %d at most", head.Objects, maxObjects)
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

// object reads one object, and returns its size.
func (p *pack) object() (int64, error) {
	kind, size, err := p.header()
	if err != nil {
		return 0, err
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
		_, err = binary.ReadUvarint(p.r) // its value is coded otherwise, its end is not
	case nameDelta:
		_, err = p.r.Discard(sha1.Size)
	}
	if err != nil {
		return 0, err
	}
	if err := p.begin(); err != nil {
		return 0, err
	}
	in := io.Reader(p.inflate)
	if kind == offsetDelta || kind == nameDelta {
		if in, err = p.delta(size); err != nil {
			return 0, err
		}
	}
	// One byte more shows an object that is larger than it says.
	n, err := io.Copy(io.Discard, io.LimitReader(in, size+1))
	if err == nil && n != size {
		err = errors.New("its size is not what it says")
	}
	return size, err
}

// header reads the type and the size of an object.
func (p *pack) header() (kind byte, size int64, err error) {
	first, err := p.r.ReadByte()
	if err != nil || first < 0x80 {
		return first >> 4 & 7, int64(first & 15), err
	}
	rest, err := binary.ReadUvarint(p.r)
	if err == nil && rest > 1<<58 {
		err = errors.New("its size is no number")
	}
	return first >> 4 & 7, int64(first&15) | int64(rest)<<4, err
}

// begin has what follows inflated.
func (p *pack) begin() (err error) {
	if p.inflate == nil {
		p.inflate, err = zlib.NewReader(p.r)
		return err
	}
	return p.inflate.(zlib.Resetter).Reset(p.r, nil)
}

// delta reads the two sizes that a delta begins with: of what it changes, and of what
// it makes of that. It returns the whole delta.
func (p *pack) delta(size int64) (io.Reader, error) {
	start := make([]byte, min(size, 2*binary.MaxVarintLen64))
	if _, err := io.ReadFull(p.inflate, start); err != nil {
		return nil, err
	}
	_, n := binary.Uvarint(start)
	made, m := binary.Uvarint(start[max(n, 0):])
	if n <= 0 || m <= 0 {
		return nil, errors.New("it is no delta")
	}
	if most := min(p.largest, maxHeld); made > uint64(most) {
		return nil, &inflatedError{"an object has", most}
	}
	return io.MultiReader(bytes.NewReader(start), p.inflate), nil
}

// weighFiles adds up the files that will be written, as often as each is: one object
// can be thousands of them.
func (w *restorer) weighFiles(ctx context.Context, p *plan, t *treePlan) error {
	var ids []string
	for _, path := range t.write {
		ids = append(ids, t.want.work[path].id)
	}
	lines, err := w.git.objects(ctx, call{dir: p.common, bare: p.common}, "%(objectsize)", ids)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if n, err := strconv.ParseInt(line, 10, 64); err == nil { // else it is missing, which is told where it is read
			w.written += n
		}
		if most := w.limit * inflatedFactor; w.written > most {
			return &inflatedError{"the files of the saved work have", most}
		}
	}
	return nil
}

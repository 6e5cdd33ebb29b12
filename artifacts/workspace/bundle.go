package workspace

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

const maxHeader = 16 << 20

// header is the header of a git bundle: the commits that a repository must have before the bundle can be
// unpacked, and the bundle's refs.
type header struct {
	needs []string
	heads []branch // with full ref names
}

// seekPack reads the header of a bundle of version 2 or 3 and sets the file's offset to the start of
// its pack.
func seekPack(f *os.File) (header, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return header{}, err
	}
	lines := bufio.NewReader(io.LimitReader(f, maxHeader))
	var h header
	var offset int64
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			return header{}, errors.New("the header of the bundle is incomplete")
		}
		offset += int64(len(line))
		line = strings.TrimSuffix(line, "\n")
		switch {
		case n == 0 && line != "# v2 git bundle" && line != "# v3 git bundle":
			return header{}, fmt.Errorf("%.40q is not the first line of a bundle", line)
		case n > 0 && line == "":
			_, err := f.Seek(offset, io.SeekStart)
			return h, err
		case strings.HasPrefix(line, "-"):
			id, _, _ := strings.Cut(line[1:], " ")
			h.needs = append(h.needs, id)
		case n > 0 && line[0] != '@':
			id, name, _ := strings.Cut(line, " ")
			h.heads = append(h.heads, branch{name, id})
		}
	}
}

// checkBundleSize reads a bundle and returns its header and the inflated size of its pack. limit is the
// limit on packed bytes, from which the limits on inflated bytes are computed. before is the inflated
// size of the bundles that were read before this one. The error is an *inflatedError if one object, or
// all bundles together, are too large.
func checkBundleSize(f *os.File, limit, before int64) (header, int64, error) {
	head, err := seekPack(f)
	if err != nil {
		return header{}, 0, err
	}
	n, err := inflatedSize(f, limit*rawFactor, limit*inflatedFactor-before)
	return head, n, err
}

// bundleResult describes a bundle that was created.
type bundleResult struct {
	header
	size int64
	sum  string // SHA-256, in hex
}

// bundle creates a bundle file at the path to. reach contains refs and commits in the input format of git rev-list.
// room is the maximum size of the bundle in bytes, and limit is the limit on packed bytes that a restore will apply.
// If the bundle is so large that no restore would accept it, the error is errFull or an *inflatedError. After an
// error the file doesn't exist.
func (t *tool) bundle(ctx context.Context, c call, to, reach string, room, limit int64) (result bundleResult, err error) {
	f, _, err := files.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return result, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	sum := sha256.New()
	out := &limitedWriter{w: io.MultiWriter(f, sum), left: room}
	c.in, c.out = strings.NewReader(reach), out
	err = t.run(ctx, c, "bundle", "create", "--quiet", "-", "--stdin")
	if out.full && ctx.Err() == nil {
		err = errFull
	}
	if err != nil {
		return result, err
	}
	head, _, err := checkBundleSize(f, limit, 0)
	return bundleResult{head, out.written, hex.EncodeToString(sum.Sum(nil))}, err
}

// indexPack adds the objects of a pack to a repository. options are further options of git index-pack.
func (t *tool) indexPack(ctx context.Context, to string, pack io.Reader, options ...string) error {
	return t.run(ctx, call{dir: to, bare: to, in: pack}, append([]string{"index-pack", "--stdin"}, options...)...)
}

// limitedWriter writes to w until left bytes are written. A write of more bytes fails with errFull.
type limitedWriter struct {
	w             io.Writer
	left, written int64
	full          bool
}

var errFull = errors.New("the limit is reached")

func (b *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		b.full = true
		return 0, errFull
	}
	n, err := b.w.Write(p)
	b.left -= int64(n)
	b.written += int64(n)
	return n, err
}

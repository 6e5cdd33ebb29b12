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

// header is how a bundle begins: what it builds on, and what it has.
type header struct {
	needs []string
	heads []branch // with the full names of refs
}

// toPack reads the head of a bundle, versions 2 and 3, and has the file continue with its pack.
func toPack(f *os.File) (header, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return header{}, err
	}
	lines := bufio.NewReader(io.LimitReader(f, maxHeader))
	var h header
	var offset int64
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			return header{}, errors.New("the head of the bundle is cut off")
		}
		offset += int64(len(line))
		line = strings.TrimSuffix(line, "\n")
		switch {
		case n == 0 && line != "# v2 git bundle" && line != "# v3 git bundle":
			return header{}, fmt.Errorf("%.40q begins no bundle", line)
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

// weighBundle reads the head of a bundle, and fails with an *inflatedError where a limit in bytes
// doesn't allow for what it holds, together with what others did before.
func weighBundle(f *os.File, limit, before int64) (header, int64, error) {
	head, err := toPack(f)
	if err != nil {
		return header{}, 0, err
	}
	n, err := weighPack(f, limit*rawFactor, limit*inflatedFactor-before)
	return head, n, err
}

// bundling is a bundle to be made.
type bundling struct {
	to    string // the file
	reach string // refs and commits, as git rev-list reads them
	room  int64  // bytes that there are
	limit int64  // bytes that whoever takes it has
}

// bundled is one that was made.
type bundled struct {
	header
	size int64
	sum  string // SHA-256, in hex
}

// bundle makes a bundle. One that is too large is errFull, or an *inflatedError: what nobody would
// take is not stored. With an error there is no file.
func (t *tool) bundle(ctx context.Context, c call, b bundling) (made bundled, err error) {
	f, _, err := files.OpenFile(b.to, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return made, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(b.to))
		}
	}()
	sum := sha256.New()
	out := &bounded{w: io.MultiWriter(f, sum), left: b.room}
	c.in, c.out = strings.NewReader(b.reach), out
	err = t.run(ctx, c, "bundle", "create", "--quiet", "-", "--stdin")
	if out.full && ctx.Err() == nil {
		err = errFull
	}
	if err != nil {
		return made, err
	}
	head, _, err := weighBundle(f, b.limit, 0)
	return bundled{head, out.written, hex.EncodeToString(sum.Sum(nil))}, err
}

// takePack adds the objects of a pack to a repository.
func (t *tool) takePack(ctx context.Context, to string, pack io.Reader, options ...string) error {
	return t.run(ctx, call{dir: to, bare: to, in: pack}, append([]string{"index-pack", "--stdin"}, options...)...)
}

// bounded is a writer that takes only so much.
type bounded struct {
	w             io.Writer
	left, written int64
	full          bool
}

var errFull = errors.New("the limit is reached")

func (b *bounded) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		b.full = true
		return 0, errFull
	}
	n, err := b.w.Write(p)
	b.left -= int64(n)
	b.written += int64(n)
	return n, err
}

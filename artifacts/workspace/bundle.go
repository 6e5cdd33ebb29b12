package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const maxHeader = 16 << 20

// header is how a bundle begins: what it builds on, what it has, and where its pack begins.
type header struct {
	needs  []string
	heads  []branch // with the full names of refs
	offset int64
}

// readHeader reads the head of a bundle, versions 2 and 3.
func readHeader(r io.Reader) (header, error) {
	lines := bufio.NewReader(io.LimitReader(r, maxHeader))
	var h header
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			return header{}, errors.New("the head of the bundle is cut off")
		}
		h.offset += int64(len(line))
		line = strings.TrimSuffix(line, "\n")
		switch {
		case n == 0 && line != "# v2 git bundle" && line != "# v3 git bundle":
			return header{}, fmt.Errorf("%.40q begins no bundle", line)
		case n > 0 && line == "":
			return h, nil
		case strings.HasPrefix(line, "-"):
			id, _, _ := strings.Cut(line[1:], " ")
			h.needs = append(h.needs, id)
		case n > 0 && line[0] != '@':
			id, name, _ := strings.Cut(line, " ")
			h.heads = append(h.heads, branch{name, id})
		}
	}
}

// toPack reads the head of a bundle, and has the file continue with its pack.
func toPack(f *os.File) (header, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return header{}, err
	}
	head, err := readHeader(f)
	if err == nil {
		_, err = f.Seek(head.offset, io.SeekStart)
	}
	return head, err
}

// weighBundle reads the head of a bundle, and fails with an *inflatedError where a limit in bytes
// doesn't allow for what it holds, together with what others did before.
func weighBundle(f *os.File, format string, limit, before int64) (header, int64, error) {
	head, err := toPack(f)
	if err != nil {
		return header{}, 0, err
	}
	n, err := weighPack(f, format, limit*rawFactor, limit*inflatedFactor-before)
	return head, n, err
}

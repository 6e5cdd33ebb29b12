package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

const maxHeader = 16 << 20

// header is how a bundle begins: what it builds on, and where its pack begins.
type header struct {
	needs  []string
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
		}
	}
}

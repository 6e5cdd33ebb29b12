package workspace

import (
	"fmt"
	"io"
	"os"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// content is what a file of a worktree holds: its bytes, or where a link points.
type content struct {
	io.ReadCloser
	size int64
	mode string
	info os.FileInfo
}

// openFile opens a file of a worktree. Neither a link nor a pipe that an agent puts
// in its place meanwhile is followed or waited for.
func openFile(root *os.Root, path string) (*content, error) {
	f, info, err := files.OpenIn(root, path)
	if err != nil {
		return nil, err
	}
	return &content{f, info.Size(), fileMode(info), info}, nil
}

func fileMode(info os.FileInfo) string {
	if info.Mode()&0o100 != 0 {
		return modeExec
	}
	return modeFile
}

// sizes words a number of bytes.
func sizes(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

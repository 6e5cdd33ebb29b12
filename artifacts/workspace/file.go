package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// errNotRegular says that something is neither a file nor a link.
var errNotRegular = errors.New("it is no regular file")

// content is what a file of a worktree holds: its bytes, or where a link points.
type content struct {
	io.ReadCloser
	size int64
	mode string
}

// openFile opens a file of a worktree. Neither a link nor a pipe that an agent puts
// in its place meanwhile is followed or waited for.
func openFile(root *os.Root, path string) (*content, error) {
	info, err := root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	f, err := root.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = &os.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &content{f, now.Size(), fileMode(now)}, nil
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

//go:build unix

package confine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// maxCopied is the maximum total size of the copies that splitHardLinks makes, in bytes.
const maxCopied = 4 << 30

// splitHardLinks replaces files below a directory with copies if they have further hard links outside of
// it, such as the links of package managers to their caches. Otherwise, a write to the file would also
// change the cache. No other process may write in the directory at the same time.
func splitHardLinks(top string) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	linked := map[[2]uint64][]string{}
	names := map[[2]uint64]uint64{}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // agents can't read it either
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
			id := [2]uint64{uint64(st.Dev), uint64(st.Ino)} //nolint:unconvert // narrower on other systems
			linked[id], names[id] = append(linked[id], name), uint64(st.Nlink)
		}
		return nil
	})
	left := int64(maxCopied)
	for id, all := range linked {
		if uint64(len(all)) == names[id] {
			continue
		}
		for _, name := range all {
			err = errors.Join(err, replace(root, name, &left))
		}
	}
	return err
}

// replace replaces a file with a copy that has the same owner, mode and time. It subtracts the file's
// size from left, and returns an error if that becomes negative.
func replace(root *os.Root, name string, left *int64) error {
	in, info, err := files.OpenIn(root, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if *left -= info.Size(); *left < 0 {
		return fmt.Errorf("%s and others are more than %d bytes", name, int64(maxCopied))
	}
	tmp := path.Join(path.Dir(name), ".raymond-"+strconv.FormatUint(rand.Uint64(), 36))
	out, err := root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		err = errors.Join(err, out.Chown(int(st.Uid), int(st.Gid)))
	}
	err = errors.Join(err, out.Chmod(info.Mode()), out.Close(), root.Chtimes(tmp, info.ModTime(), info.ModTime()))
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return nil
}

package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
)

// maxLogged is the largest number of bytes of a command's output that are logged.
const maxLogged = 8 << 20

// openLog creates the log of an attempt. It renames an existing log to the next free name with .1,
// .2, …. If something fails, it returns nil, and writing to the log does nothing, because the
// verdict must not depend on the log.
func openLog(c runner.Order) *os.File {
	if os.MkdirAll(filepath.Dir(c.LogFile), 0o700) != nil || archiveLog(c.LogFile) != nil {
		return nil
	}
	f, _, err := files.OpenFile(c.LogFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil
	}
	fmt.Fprintf(f, "attempt %d\nagent exit code: %d\n", c.Attempt, c.AgentCode)
	return f
}

// archiveLog renames an existing log: it appends a dot and the first number that is free.
func archiveLog(path string) error {
	for n := 1; ; n++ {
		next := fmt.Sprintf("%s.%d", path, n)
		if _, err := os.Lstat(next); err == nil {
			continue
		}
		if err := files.Rename(path, next); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
}

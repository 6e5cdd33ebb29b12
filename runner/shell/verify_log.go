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

// maxLogged is how much of one command's output goes into the log, in bytes.
const maxLogged = 8 << 20

// openLog begins the log of an attempt. The one before stays beside it as .1, .2, …. A log that can't be written changes no
// verdict: it is nil then, and writing to it does nothing.
func openLog(c runner.Order) *os.File {
	if os.MkdirAll(filepath.Dir(c.LogFile), 0o700) != nil || keep(c.LogFile) != nil {
		return nil
	}
	f, _, err := files.OpenFile(c.LogFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil
	}
	fmt.Fprintf(f, "attempt %d\nagent exit code: %d\n", c.Attempt, c.AgentCode)
	return f
}

// keep renames the log that is there to the next free number.
func keep(path string) error {
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

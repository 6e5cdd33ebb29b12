package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// maxLogged is how much of one command's output goes into the log, in bytes.
const maxLogged = 8 << 20

// logFile is the log of the attempt under way. A log that can't be written does
// not change a verdict.
type logFile struct{ f *os.File }

// openLog begins the log of an attempt. The one before stays beside it as .1,
// .2, ….
func openLog(c runner.Checks) *logFile {
	if err := os.MkdirAll(filepath.Dir(c.LogFile), 0o700); err != nil {
		return &logFile{}
	}
	if err := keep(c.LogFile); err != nil {
		return &logFile{}
	}
	f, _, err := files.OpenFile(c.LogFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return &logFile{}
	}
	l := &logFile{f}
	l.printf("attempt %d\nagent exit code: %d\n", c.Attempt, c.AgentCode)
	return l
}

// keep renames the log that is there to the next free number, unless it is of an
// attempt whose verification was cut off, which is replaced.
func keep(path string) error {
	judged, err := hasVerdict(path)
	if err != nil || !judged {
		return err
	}
	for n := 1; ; n++ {
		next := fmt.Sprintf("%s.%d", path, n)
		if _, err := os.Lstat(next); errors.Is(err, os.ErrNotExist) {
			return files.Rename(path, next)
		}
	}
}

// The last line of a log that is complete.
const (
	passed = "\nverdict: passed\n"
	failed = "\nverdict: failed\n"
)

// hasVerdict reports whether there is a log that is complete. Logs can be large:
// only the end is read.
func hasVerdict(path string) (bool, error) {
	f, _, err := files.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	end := make([]byte, len(passed))
	if _, err := f.Seek(-int64(len(end)), io.SeekEnd); err != nil {
		return false, nil // it is shorter
	}
	_, err = io.ReadFull(f, end)
	return string(end) == passed || string(end) == failed, err
}

func (l *logFile) printf(format string, args ...any) {
	if l.f != nil {
		fmt.Fprintf(l.f, format, args...)
	}
}

// verdict ends the log of an attempt.
func (l *logFile) verdict(c runner.Checks, v state.Verification) {
	for _, name := range v.Changed {
		l.printf("protected file changed: %s\n", name)
	}
	if c.Refused != "" {
		l.printf("no transition: %s\n", c.Refused)
	}
	good := len(v.Changed) == 0 && c.Refused == ""
	for _, r := range v.Results {
		good = good && r.RC == 0
	}
	if good {
		l.printf(passed)
		return
	}
	l.printf(failed)
}

// Close closes the file.
func (l *logFile) Close() {
	if l.f != nil {
		l.f.Close()
	}
}

// bounded returns a writer for the output of one command.
func (l *logFile) bounded() io.Writer {
	if l.f == nil {
		return io.Discard
	}
	return &proc.Capped{W: l.f, Room: maxLogged}
}

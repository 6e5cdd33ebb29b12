package verify

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
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
	f, err := os.OpenFile(c.LogFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
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
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && !strings.Contains(string(data), "\nverdict: ") {
		return nil
	}
	for n := 1; ; n++ {
		next := fmt.Sprintf("%s.%d", path, n)
		if _, err := os.Lstat(next); errors.Is(err, os.ErrNotExist) {
			return os.Rename(path, next)
		}
	}
}

func (l *logFile) printf(format string, args ...any) {
	if l.f != nil {
		fmt.Fprintf(l.f, format, args...)
	}
}

func (l *logFile) verdict(v state.Verification) {
	word := "passed"
	for _, r := range v.Results {
		if r.RC != 0 {
			word = "failed"
		}
	}
	if len(v.Changed) > 0 {
		word = "failed: protected files changed: " + strings.Join(v.Changed, ", ")
	}
	l.printf("\nverdict: %s\n", word)
}

// Close closes the file.
func (l *logFile) Close() {
	if l.f != nil {
		l.f.Close()
	}
}

// bounded returns a writer for the output of one command.
func (l *logFile) bounded() io.Writer { return &boundedWriter{l: l, left: maxLogged} }

type boundedWriter struct {
	l    *logFile
	left int
}

// Write implements io.Writer. It never fails: what the log can't hold is dropped.
func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.l.f == nil || b.left <= 0 {
		return len(p), nil
	}
	n := min(len(p), b.left)
	b.left -= n
	b.l.f.Write(p[:n])
	if b.left == 0 {
		b.l.printf("\n[the rest of the output is left out]\n")
	}
	return len(p), nil
}

package scope

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// TestHostileWorkflowDirs checks that huge or very many files next to the states are an error, and
// neither block the copy nor fill the disk.
func TestHostileWorkflowDirs(t *testing.T) {
	put := map[string]func(dir string) error{
		"a sparse file": func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "huge"), nil, 0o600), os.Truncate(filepath.Join(dir, "huge"), 8<<40))
		},
		"many folders": func(dir string) error { return many(dir, func(p string) error { return os.Mkdir(p, 0o700) }) },
		"many files":   func(dir string) error { return many(dir, func(p string) error { return os.WriteFile(p, nil, 0o600) }) },
	}
	for name, put := range put {
		dir, to := t.TempDir(), filepath.Join(t.TempDir(), "run", "scope")
		assert.NilError(t, errors.Join(os.WriteFile(filepath.Join(dir, "1_START.sh"), []byte("true\n"), 0o700), put(dir)))
		began := time.Now()
		s, err := Find(dir)
		if err == nil {
			err = s.PrivateCopy(to)
			s.Close()
		}
		var bad *problem.Problem
		assert.Check(t, errors.As(err, &bad), "%s: got %v, want a problem of the workflow", name, err)
		assert.Check(t, is.Equal(bad.Class, problem.ClassWorkflow), name)
		took := time.Since(began)
		assert.Check(t, took <= 2*time.Minute, "%s: took %v", name, took)
	}
}

// many calls put with different paths in dir. It makes one call more than a workflow may have files.
func many(dir string, put func(path string) error) error {
	var errs []error
	for i := range maxScopeFiles + 1 {
		errs = append(errs, put(filepath.Join(dir, fmt.Sprint("x", i))))
	}
	return errors.Join(errs...)
}

// TestPipesBesideStatesAreIgnored checks that nothing blocks on a pipe in the workflow's directory.
func TestPipesBesideStatesAreIgnored(t *testing.T) {
	dir := t.TempDir()
	for name, err := range map[string]error{
		"state": os.WriteFile(filepath.Join(dir, "1_START.sh"), []byte("true\n"), 0o700),
		"pipe":  syscall.Mkfifo(filepath.Join(dir, "helper"), 0o600),
	} {
		assert.NilError(t, err, name)
	}
	s, err := Find(dir)
	assert.NilError(t, err)
	defer s.Close()
	done, to := make(chan error, 1), filepath.Join(t.TempDir(), "run", "scope")
	go func() {
		f, err := s.FS.Open("helper")
		if err == nil {
			err = errors.Join(errors.New("it was opened"), f.Close())
		} else {
			err = s.PrivateCopy(to)
		}
		done <- err
	}()
	select {
	case err := <-done:
		assert.Check(t, err)
	case <-time.After(2 * time.Minute):
		t.Error("the pipe is waited for")
	}
}

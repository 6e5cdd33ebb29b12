package action

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func keyOf(t *testing.T, token, identity string) integrityKey {
	t.Helper()
	k, err := newIntegrityKey(token, identity)
	assert.NilError(t, err)
	return k
}

// openIntegrityLog creates an integrity log. The test closes it before its directory is removed, as
// Windows requires.
func openIntegrityLog(t *testing.T, dir string) *integrityLog {
	t.Helper()
	s, err := newIntegrityLog(dir, keyOf(t, "token", "step"))
	assert.NilError(t, err)
	t.Cleanup(func() { _ = s.log.Close() })
	return s
}

// recordedDir returns a directory with a note and a file of lines, and their integrity log.
func recordedDir(t *testing.T) (dir string, s *integrityLog) {
	t.Helper()
	dir = t.TempDir()
	s = openIntegrityLog(t, dir)
	assert.NilError(t, errors.Join(s.Note(filepath.Join(dir, "note"), 1), s.Note(filepath.Join(dir, "note"), 2)))
	assert.NilError(t, s.Adopt(filepath.Join(dir, "absent")))
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		add(t, s, filepath.Join(dir, "lines"), line, line)
	}
	return dir, s
}

// add records a line, and then writes arrives, which may be only the beginning of the line.
func add(t *testing.T, s *integrityLog, path, line, arrives string) {
	t.Helper()
	assert.NilError(t, s.Append(path, []byte(line)))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	assert.NilError(t, err)
	defer f.Close()
	_, err = f.WriteString(arrives)
	assert.NilError(t, err)
}

// TestCrashIsNoForgery checks that the directory is valid at each moment of a change.
func TestCrashIsNoForgery(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string, s *integrityLog) error{
		"nothing": func(*testing.T, string, *integrityLog) error { return nil },
		"recorded, and not yet written": func(_ *testing.T, dir string, s *integrityLog) error {
			return s.Replace(filepath.Join(dir, "note"), []byte("3"))
		},
		"half a line": func(t *testing.T, dir string, s *integrityLog) error {
			add(t, s, filepath.Join(dir, "lines"), "four\n", "fo")
			return nil
		},
		"lines emptied in the log only": func(_ *testing.T, dir string, s *integrityLog) error {
			return s.Replace(filepath.Join(dir, "lines"), nil)
		},
		"lines emptied": func(_ *testing.T, dir string, s *integrityLog) error {
			return errors.Join(s.Replace(filepath.Join(dir, "lines"), nil), os.Remove(filepath.Join(dir, "lines")))
		},
		"a file that is placed in a missing directory": func(t *testing.T, dir string, s *integrityLog) error {
			assert.Check(t, s.Place(filepath.Join(dir, "lines"), filepath.Join(dir, "gone", "lines")) != nil, "the file was placed")
			return nil
		},
		"a placed file with another line": func(t *testing.T, dir string, s *integrityLog) error {
			from, to := filepath.Join(t.TempDir(), "lines"), filepath.Join(dir, "came")
			err := errors.Join(os.WriteFile(from, []byte("one\n"), 0o600), s.Place(from, to))
			add(t, s, to, "two\n", "two\n")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := recordedDir(t)
			assert.NilError(t, change(t, dir, s))
			assert.Check(t, checkIntegrity(dir, keyOf(t, "token", "step"), "note", "missing"))
		})
	}
}

// TestForgeriesAreNamed checks that the error names the altered file, whichever file it is.
func TestForgeriesAreNamed(t *testing.T) {
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			assert.NilError(t, os.Remove(filepath.Join(dir, name)))
		}
	}
	edited := func(f func([]string) []string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, logName))
			assert.NilError(t, err)
			write(logName, strings.Join(f(strings.SplitAfter(string(data), "\n")), ""))(t, dir)
		}
	}
	for name, tt := range map[string]struct {
		forge func(*testing.T, string)
		token string
		names string
	}{
		"another value":            {write("note", "3"), "token", "note"},
		"the value before":         {write("note", "1"), "token", "note"},
		"no value":                 {remove("note"), "token", "note"},
		"two lines less":           {write("lines", "one\n"), "token", "lines"},
		"another line":             {write("lines", "one\ntwo\nTHREE\n"), "token", "lines"},
		"a file never recorded":    {write("planted", "x"), "token", "planted"},
		"a file that was missing":  {write("absent", "x"), "token", "absent"},
		"no log":                   {remove(logName), "token", logName},
		"records in another order": {edited(func(l []string) []string { return append([]string{l[1], l[0]}, l[2:]...) }), "token", logName},
		"a repeated record":        {edited(func(l []string) []string { return append(l[:len(l)-1], l[0]) }), "token", logName},
		"another token":            {func(*testing.T, string) {}, "other", logName},
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := recordedDir(t)
			_ = s.log.Close() // Windows can't remove open files
			tt.forge(t, dir)
			err := checkIntegrity(dir, keyOf(t, tt.token, "step"), "planted")
			var altered *alteredError
			assert.Check(t, errors.As(err, &altered), "got %v, want %s named", err, tt.names)
			assert.Check(t, is.Equal(altered.Name, tt.names))
		})
	}
	dir, _ := recordedDir(t)
	assert.Check(t, checkIntegrity(dir, keyOf(t, "token", "another step")) != nil, "the log of another step was accepted")
}

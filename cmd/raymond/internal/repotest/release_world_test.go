//go:build linux && world

package repotest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// largest is how many bytes a program may have: each job that uses the action downloads six. The page of a report
// uses html/template, with which the linker has to keep every method; that is 9 MiB of them.
const largest = 24 << 20

// TestReleaseIsBuiltTheSame in another folder, with an empty cache and settings that would change it. Its program is
// for its system, small, of its version, without cgo, and without a path of this machine.
func TestReleaseIsBuiltTheSame(t *testing.T) {
	t.Parallel()
	const version = "v98.76.54"
	sources, work := t.TempDir(), t.TempDir()
	printed(t, root, nil, "bash", "-c", `git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$0" 2>/dev/null; test -f "$0/go.mod"`, sources)
	one, other := filepath.Join(work, "one"), filepath.Join(work, "other")
	printed(t, root, nil, ".ci/release", one, version, "linux/amd64")
	printed(t, sources, []string{
		"HOME=" + work, "GOCACHE=" + filepath.Join(work, "cache"), "GOMODCACHE=" + printed(t, root, nil, "go", "env", "GOMODCACHE"),
		"GOFLAGS=-race", "GOAMD64=v3", "GODEBUG=panicnil=1", "CGO_ENABLED=1", "GOOS=plan9", "LC_ALL=C.UTF-8",
	}, ".ci/release", other, version, "linux/amd64")
	first, again := built(t, one, "SHA256SUMS"), built(t, other, "SHA256SUMS")
	assert.Check(t, bytes.Equal(first, again), "checksums: got %q and %q, want the same of one program", first, again)
	assert.Check(t, strings.HasSuffix(string(first), "  raymond-linux-amd64\n"), "checksums: got %q and %q, want the same of one program", first, again)
	program := built(t, one, "raymond-linux-amd64")
	assert.Check(t, len(program) <= largest, "program: got %d bytes, want at most %d", len(program), largest)
	assert.Check(t, is.Contains(printed(t, one, nil, "./raymond-linux-amd64", "--version"), version), "--version")
	for _, private := range []string{sources, printed(t, root, nil, "pwd", "-P"), printed(t, root, nil, "go", "env", "GOMODCACHE"), printed(t, root, nil, "go", "env", "GOROOT")} {
		assert.Check(t, !bytes.Contains(program, []byte(private)), "program: got the path %s in it", private)
	}
	settings := printed(t, root, nil, "go", "version", "-m", filepath.Join(one, "raymond-linux-amd64"))
	for _, want := range []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "-trimpath=true"} {
		assert.Check(t, is.Contains(settings, "\tbuild\t"+want), "settings of the program: want %s", want)
	}
}

// printed runs a program in a folder and returns what it prints, without the line break at its end.
func printed(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	assert.NilError(t, err, "%s\n%s", cmd, &errs)
	return strings.TrimSpace(string(out))
}

func built(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	assert.NilError(t, err)
	return data
}

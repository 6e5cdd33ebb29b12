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

// largest is the maximum size of a program in bytes. html/template, which the report uses, takes 9 MiB of it, because it
// makes the linker keep every method.
const largest = 24 << 20

// TestReleaseIsReproducible builds a release twice. The second build uses another folder, an empty cache, and settings that
// could change the result. The program must contain its version, work without cgo, be small, and contain no path of this
// machine.
func TestReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	const version = "v98.76.54"
	sources, work := t.TempDir(), t.TempDir()
	outputOf(t, root, nil, "bash", "-c", `git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$0" 2>/dev/null; test -f "$0/go.mod"`, sources)
	one, other := filepath.Join(work, "one"), filepath.Join(work, "other")
	outputOf(t, root, nil, ".ci/release", one, version, "linux/amd64")
	outputOf(t, sources, []string{
		"HOME=" + work, "GOCACHE=" + filepath.Join(work, "cache"), "GOMODCACHE=" + outputOf(t, root, nil, "go", "env", "GOMODCACHE"),
		"GOFLAGS=-race", "GOAMD64=v3", "GODEBUG=panicnil=1", "CGO_ENABLED=1", "GOOS=plan9", "LC_ALL=C.UTF-8",
	}, ".ci/release", other, version, "linux/amd64")
	first, again := built(t, one, "SHA256SUMS"), built(t, other, "SHA256SUMS")
	assert.Check(t, bytes.Equal(first, again), "checksums: got %q and %q, want the same of one program", first, again)
	assert.Check(t, strings.HasSuffix(string(first), "  raymond-linux-amd64\n"), "checksums: got %q and %q, want the same of one program", first, again)
	program := built(t, one, "raymond-linux-amd64")
	assert.Check(t, len(program) <= largest, "program: got %d bytes, want at most %d", len(program), largest)
	assert.Check(t, is.Contains(outputOf(t, one, nil, "./raymond-linux-amd64", "--version"), version), "--version")
	for _, private := range []string{sources, outputOf(t, root, nil, "pwd", "-P"), outputOf(t, root, nil, "go", "env", "GOMODCACHE"), outputOf(t, root, nil, "go", "env", "GOROOT")} {
		assert.Check(t, !bytes.Contains(program, []byte(private)), "program: got the path %s in it", private)
	}
	settings := outputOf(t, root, nil, "go", "version", "-m", filepath.Join(one, "raymond-linux-amd64"))
	for _, want := range []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "-trimpath=true"} {
		assert.Check(t, is.Contains(settings, "\tbuild\t"+want), "settings of the program: want %s", want)
	}
}

// outputOf runs a program in a folder and returns its output without the final line break.
func outputOf(t *testing.T, dir string, env []string, name string, args ...string) string {
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

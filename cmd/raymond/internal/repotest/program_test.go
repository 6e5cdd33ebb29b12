package repotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }

// noRaceSleep stops a program with the race detector from sleeping when it exits.
const noRaceSleep = "GORACE=atexit_sleep_ms=0"

// run runs raymond and returns its output, stdout and stderr together.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(sitetest.Raymond.Path(t), args...)
	cmd.Env = append(os.Environ(), noRaceSleep)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// output runs raymond, which must exit with 0, and returns its output.
func output(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t, args...)
	assert.NilError(t, err, "raymond %q:\n%s", args, out)
	return out
}

// row is a line of a two-column help text: a name, such as a flag, and its meaning.
type row struct{ name, meaning string }

// rows parses the two-column lines of a help text.
func rows(text string) []row {
	var found []row
	for _, m := range regexp.MustCompile(`(?m)^ *(\S+(?: \S+)*) {2,}(\S.*)$`).FindAllStringSubmatch(text, -1) {
		found = append(found, row{m[1], m[2]})
	}
	return found
}

// section returns the lines below a heading of a help text.
func section(help, heading string) string {
	_, part, _ := strings.Cut(help, "\n"+heading+":\n")
	part, _, _ = strings.Cut(part, "\n\n")
	return part
}

// folder is a working directory for commands that pages show. raymond is on PATH, an agent CLI is
// not.
type folder struct {
	dir string
	env []string
}

func newFolder(t *testing.T) folder {
	t.Helper()
	// A program sleep that returns immediately makes scripts that poll in a loop fast.
	short := t.TempDir()
	nothing, err := exec.LookPath("true")
	assert.NilError(t, err)
	assert.NilError(t, os.Symlink(nothing, filepath.Join(short, "sleep")))
	path := []string{short, filepath.Dir(sitetest.Raymond.Path(t)), os.Getenv("PATH")}
	return folder{dir: t.TempDir(), env: []string{
		"PATH=" + strings.Join(path, string(filepath.ListSeparator)), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(),
		"LANG=C.UTF-8", "RAYMOND_CLAUDE=/nonexistent", noRaceSleep,
	}}
}

func (f folder) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o644))
}

// shell runs a command line and returns its output, stdout and stderr together.
func (f folder) shell(line string) (string, error) {
	cmd := exec.Command("/bin/bash", "-c", line)
	cmd.Dir, cmd.Env = f.dir, f.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

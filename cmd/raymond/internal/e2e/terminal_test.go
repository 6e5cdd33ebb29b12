//go:build linux

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// openTerminal opens a terminal: screen shows what is written to tty, and what is written
// to screen is typed there.
func openTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	assert.NilError(t, err)
	t.Cleanup(func() { screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	assert.NilError(t, err)
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

// TestCtrlCAtAQuestionCancelsTheRun, which is resumable then, with the question still
// open.
func TestCtrlCAtAQuestionCancelsTheRun(t *testing.T) {
	screen, tty := openTerminal(t)
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "START.sh"), []byte(`echo '<ask next="START.sh">Really?</ask>'`), 0o600))
	cmd := exec.Command(sitetest.Raymond.Path(t), "START.sh", "--workflow-id", "asks")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	assert.NilError(t, cmd.Start())
	var shown strings.Builder
	for lines := bufio.NewScanner(screen); lines.Scan(); {
		shown.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "press Enter") {
			break
		}
	}
	if _, err := screen.WriteString("half an ans\x03"); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	assert.Check(t, is.Equal(cmd.ProcessState.ExitCode(), 130), "exit code; shown:\n%s", &shown)
	list, err := exec.Command(sitetest.Raymond.Path(t), "list", "--state-dir", filepath.Join(dir, ".raymond", "state")).Output()
	if err != nil || !strings.Contains(string(list), "cancelled") || !strings.Contains(string(list), "answer") {
		t.Errorf("list: got %q, %v, want the run cancelled, with an agent that waits for an answer", list, err)
	}
}

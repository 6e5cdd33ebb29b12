package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// The tests start the test binary itself as a child. roleVar selects the child's behavior.
const roleVar = "PROC_TEST_ROLE"

// roles maps each role to its function.
var roles = map[string]func(){
	"linger":    linger,
	"parent":    func() { printChild() },
	"host":      func() { printChild(); linger() },
	"conductor": func() { s := part("host"); s.Stdout = os.Stdout; _, _ = Run(context.Background(), s) },
	"deaf":      func() { fmt.Print(windows.RtlGetCurrentPeb().ProcessParameters.ConsoleFlags & 1) },
}

// TestMain runs a role if roleVar is set, and the tests otherwise.
func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVar)]; ok {
		role()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// linger keeps the process running for ten minutes.
func linger() { <-time.After(10 * time.Minute) }

// printChild starts a process that keeps running, and prints the id of that process.
func printChild() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=linger")
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println(cmd.Process.Pid)
}

// part returns the options for a child with a role.
func part(role string) Options {
	return Options{Path: os.Args[0], Env: append(os.Environ(), roleVar+"="+role)}
}

// idWriter is a writer that calls onID with the process id that it receives.
type idWriter struct {
	line string
	onID func(pid int)
}

// Write implements io.Writer.
func (t *idWriter) Write(p []byte) (int, error) {
	t.line += string(p)
	if line, _, ok := strings.Cut(t.line, "\n"); ok {
		pid, _ := strconv.Atoi(strings.TrimSpace(line))
		t.onID(pid)
	}
	return len(p), nil
}

// open returns a handle of a running process.
func open(t *testing.T, pid int) windows.Handle {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	assert.Check(t, err, "process %d", pid)
	return h
}

// TestNothingOutlivesRun checks that a grandchild has ended when Run returns.
func TestNothingOutlivesRun(t *testing.T) {
	for role, want := range map[string]EndReason{"parent": ByItself, "host": ByStop} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var child windows.Handle
		s := part(role)
		s.Stdout = &idWriter{onID: func(pid int) {
			child = open(t, pid)
			if want == ByStop {
				stop()
			}
		}}
		if e, err := Run(ctx, s); err != nil || e.Ended != want {
			t.Errorf("%s: got %+v, %v, want an end by %q", role, e, err, want)
		}
		if is, err := windows.WaitForSingleObject(child, 0); is != windows.WAIT_OBJECT_0 {
			t.Errorf("%s: what it had started is still there when Run has returned (%d, %v)", role, is, err)
		}
	}
}

// TestNothingOutlivesAKilledProgram checks that a killed program's descendants end with it.
func TestNothingOutlivesAKilledProgram(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=conductor")
	var child windows.Handle
	cmd.Stdout = &idWriter{onID: func(pid int) {
		child = open(t, pid)
		_ = cmd.Process.Kill()
	}}
	_ = cmd.Run()
	const guard = 120_000 // milliseconds
	if is, err := windows.WaitForSingleObject(child, guard); is != windows.WAIT_OBJECT_0 {
		t.Errorf("what it had started is still there (%d, %v)", is, err)
	}
}

// TestChildrenIgnoreCtrlC checks that Ctrl-C doesn't end a child, which would then count as failed. It
// reads the flag with which the system marks a process that ignores Ctrl-C.
func TestChildrenIgnoreCtrlC(t *testing.T) {
	s := part("deaf")
	var out bytes.Buffer
	s.Stdout = &out
	if e, err := Run(t.Context(), s); err != nil || out.String() != "1" {
		t.Errorf("got %q, %+v, %v, want 1", out.String(), e, err)
	}
}

// TestBatchFilesRun checks that a program that npm has installed gets its arguments, and that arguments
// that cmd.exe would interpret are rejected.
func TestBatchFilesRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cli.cmd")
	installtest.WriteProgram(t, path, "@echo off\r\necho got %*\r\n")
	var out bytes.Buffer
	if e, err := Run(t.Context(), Options{Path: path, Args: []string{"-p", `{"a":1}`}, Env: os.Environ(), Stdout: &out}); err != nil || !strings.Contains(out.String(), `got -p {\"a\":1}`) {
		t.Errorf("got %q, %+v, %v", out.String(), e, err)
	}
	if _, err := Run(t.Context(), Options{Path: path, Args: []string{"a&b"}, Env: os.Environ()}); !errors.Is(err, ErrBatch) {
		t.Errorf("a&b: got %v, want a refusal", err)
	}
}

func TestBashComesWithGit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", filepath.Join(dir, "wsl")+";"+filepath.Join(dir, "Git", "cmd"))
	t.Setenv("ProgramFiles", filepath.Join(dir, "none"))
	for _, file := range []string{`wsl\bash.exe`, `Git\cmd\git.exe`} {
		installtest.WriteProgram(t, filepath.Join(dir, file), "")
	}
	if got, err := Bash(); err == nil {
		t.Errorf("got %s, want none", got)
	}
	want := filepath.Join(dir, `Git\bin\bash.exe`)
	installtest.WriteProgram(t, want, "")
	if got, err := Bash(); err != nil || filepath.Clean(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

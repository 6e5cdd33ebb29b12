package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// privsLine matches the line of a status file in /proc that contains the flag no_new_privs.
var privsLine = regexp.MustCompile(`NoNewPrivs:\s*(\d)\n`)

// TestNoNewPrivsAppliesToTheChildOnly starts children with and without NoNewPrivs at the same time. It
// checks that the flag applies to the child and its own children, and never to this process.
func TestNoNewPrivsAppliesToTheChildOnly(t *testing.T) {
	const look = "grep NoNewPrivs /proc/self/status"
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			var out strings.Builder
			s := Options{
				Path: "/bin/sh", Args: []string{"-c", look + "; (setsid " + look + ")"}, Env: []string{"PATH=/usr/bin:/bin"},
				Mark: newMark(), Stdout: &out, NoNewPrivs: i%2 == 0,
			}
			e := run(t, s)
			want := strings.Repeat(fmt.Sprintf("NoNewPrivs:\t%d\n", 1-i%2), 2)
			assert.Check(t, is.Equal(out.String(), want), "child %d, bound %v", i, s.NoNewPrivs)
			assert.Check(t, is.Equal(e.Code, 0), "child %d, bound %v", i, s.NoNewPrivs)
		})
	}
	wg.Wait()
	bound := 0
	threads, err := filepath.Glob("/proc/self/task/*/status")
	for _, thread := range threads {
		data, _ := os.ReadFile(thread) // returns an error if the thread has ended
		if m := privsLine.FindSubmatch(data); m != nil && m[1][0] == '1' {
			bound++
		}
	}
	assert.Check(t, err == nil && bound == 1, "threads of this process that are bound: got %d of %d, %v, want 1", bound, len(threads), err)
}

// canary is a secret in the environment of a process that other processes must not be able to read.
const canary = "CANARY=sk-do-not-read-me"

// playSpied starts a child that tries to read this process's environment, memory and stdin through /proc.
func playSpied([]string) {
	protect()
	_, err := Run(context.Background(), Options{
		Path: "/bin/sh", Args: []string{"-c", "cat /proc/$PPID/environ /proc/$PPID/mem /proc/$PPID/fd/0; echo end"},
		Env: []string{"PATH=/usr/bin:/bin"}, MergeStderr: true, Stdout: os.Stdout,
	})
	must(err)
}

// unprivileged returns a command that runs the test binary as a user who can't read files of root.
func unprivileged(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	// That user may not have access to the directory of the binary and to the working directory.
	self, err := os.Open("/proc/self/exe")
	assert.NilError(t, err)
	t.Cleanup(func() { self.Close() })
	cmd := exec.Command("/proc/self/fd/3", args...)
	cmd.Args[0], cmd.ExtraFiles, cmd.Dir = "/proc/self/exe", []*os.File{self}, "/"
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return cmd
}

// TestUndumpableIsUnreadable checks that a child with the same user can read the environment of a normal
// process, but not the environment of a process that has called MakeUndumpable.
func TestUndumpableIsUnreadable(t *testing.T) {
	for _, protected := range []string{"", "1"} {
		cmd := unprivileged(t)
		cmd.Env = []string{canary, noSleep, roleVar + "=spied", undumpableVar + "=" + protected}
		out, err := cmd.CombinedOutput()
		seen := strings.Contains(string(out), canary)
		refused := strings.Count(strings.ToLower(string(out)), "permission denied")
		if err != nil || seen == (protected != "") || (refused == 3) != (protected != "") || !strings.Contains(string(out), "end") {
			t.Errorf("protected %q: %v, the secret was seen: %v, output:\n%s", protected, err, seen, out)
		}
	}
}

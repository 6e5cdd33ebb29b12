package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestGitIsBound checks that git processes can't gain privileges, have limited memory, and get neither
// settings nor directories from the caller's environment.
func TestGitIsBound(t *testing.T) {
	s := clone(t, sharedRemote(t))
	notes, limit := filepath.Join(s.root, "notes"), fmt.Sprint(2<<30)
	// The memory limit is set a moment after the process has started.
	g := standIn(t, "for ((i = 0; i < 600; i++)); do grep -q 'Max data.* "+limit+"' /proc/self/limits && break; sleep 0.1; done; { grep NoNewPrivs /proc/self/status; grep 'Max data' /proc/self/limits; env; } >>'"+notes+"'; exit 1")
	g.Env = append(homeWith(t, ""), "PATH="+s.root+"/bin:.:"+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL="+s.root, "GIT_SSH_COMMAND=odd",
		"GIT_DIR=/nowhere", "GIT_WORK_TREE=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_NAMESPACE=nowhere", "GIT_CONFIG_PARAMETERS='nowhere'='true'", "GIT_EXTERNAL_DIFF=nowhere")
	g.Base(t.Context(), s.checkout(), "")
	got := read(t, s.root, "notes")
	for _, want := range []string{
		"NoNewPrivs:\t1\n", "\nGIT_CONFIG_NOSYSTEM=1\n", "\nGIT_CONFIG_GLOBAL=/dev/null\n", "\nHOME=/dev/null\n", "\nXDG_CONFIG_HOME=/dev/null\n",
		"\nGIT_ATTR_NOSYSTEM=1\n", "\nGIT_ALLOW_PROTOCOL=none\n", "\nLC_ALL=C\n", "\nGIT_SSH_COMMAND=ssh -F none -o BatchMode=yes\n",
	} {
		assert.Check(t, is.Contains("\n"+got, want), "a run of git: got\n%s\nwant %q in it", got, want)
	}
	assert.Check(t, !strings.Contains(got, "nowhere"), "a run of git: got\n%s\nwant it without the variables of the caller", got)
	assert.Check(t, is.Contains(got, limit), "a run of git: want a limit of bytes")
	for line := range strings.Lines(got) {
		if path, ok := strings.CutPrefix(line, "PATH="); ok && (strings.Contains(path, s.root) || strings.Contains(path, ":.:")) {
			t.Errorf("PATH of git: got %q, want it without folders that agents can write to", path)
		}
	}
}

// TestGitEndsWithItsChildren checks that a helper process of git is killed together with git. The helper
// has a pipe open for writing, and the test's read from the pipe ends when no process has it open any
// longer.
func TestGitEndsWithItsChildren(t *testing.T) {
	s := clone(t, sharedRemote(t))
	pipePath := filepath.Join(s.root, "pipe")
	fifo(t, pipePath)
	g := standIn(t, "exec 3>'"+pipePath+"'; sleep infinity & echo started >&3; wait")
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted, ended := errors.New("interrupted"), make(chan error, 1)
	go func() {
		f, err := os.Open(pipePath)
		if err == nil {
			_, err = bufio.NewReader(f).ReadString('\n')
			cancel(interrupted)
			_, more := io.Copy(io.Discard, f)
			err = errors.Join(err, more, f.Close())
		}
		ended <- err
	}()
	_, err := g.Save(ctx, workspace.SaveRequest{Dirs: []string{s.checkout()}, To: t.TempDir()})
	assert.Check(t, is.ErrorIs(err, interrupted), "save that is interrupted")
	select {
	case err := <-ended:
		assert.Check(t, err)
	case <-time.After(2 * time.Minute):
		t.Error("a child of git still runs")
	}
}

// TestGitIsCaged checks that a compromised git can access only its repository and worktree, and has no
// network.
func TestGitIsCaged(t *testing.T) {
	server, requests := listener(t, http.NotFound)
	for _, isFree := range []bool{true, false} {
		s := clone(t, sharedRemote(t))
		other := t.TempDir()
		outside, read := filepath.Join(other, "outside"), filepath.Join(s.checkout(), "ignored")
		write(t, other, "secret", "secret\n")
		g := wrapped(t, "echo x >'"+outside+"'; read x <'"+other+"/secret' && echo $x >'"+read+"'; "+
			"exec 3<>/dev/tcp/"+strings.Replace(strings.TrimPrefix(server.URL, "http://"), ":", "/", 1)+" && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3 >/dev/null; exec 3>&-")
		g.IsUncaged, g.Env = isFree, homeWith(t, "")
		write(t, s.checkout(), "new", "new\n")
		requests.hosts = nil
		_, err := g.Save(t.Context(), workspace.SaveRequest{Dirs: []string{s.checkout()}, Base: head(t, s.checkout()), To: t.TempDir()})
		assert.Check(t, err, "save, free: %t: %v", isFree, err)
		for _, path := range []string{outside, read} {
			if _, err := os.Stat(path); (err == nil) != isFree {
				t.Errorf("file %s, free: %t: got %v", filepath.Base(path), isFree, err)
			}
		}
		assert.Check(t, is.Equal(len(requests.hosts) > 0, isFree), "network, free: %t: got %d requests", isFree, len(requests.hosts))
	}
}

// TestFetchCannotReadTheCheckout checks that the git process that has the network and the token can't read
// files of agents.
func TestFetchCannotReadTheCheckout(t *testing.T) {
	remote := ownRemote(t)
	old, saved := worked(t)
	advance(t, remote)
	here := clone(t, remote, "--depth=1")
	for _, isFree := range []bool{true, false} {
		g := wrapped(t, "[[ $1 != fetch ]] || ! read x <'"+here.checkout()+"/a' || exit 9")
		g.IsUncaged = isFree
		_, err := g.Restore(t.Context(), workspace.RestoreRequest{From: saved, Dir: relocated(old, here)})
		assert.Check(t, is.Equal(err != nil, isFree), "free: %t: got %v", isFree, err)
	}
}

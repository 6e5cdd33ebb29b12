package workspace_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// advance adds a commit to a remote's main branch.
func advance(t *testing.T, remote string) {
	t.Helper()
	other := clone(t, remote)
	write(t, other.checkout(), "a", "moved on\n")
	write(t, other.checkout(), "later", "only later\n")
	git(t, other.checkout(), "add", "-A")
	git(t, other.checkout(), "commit", "-q", "-m", "later")
	git(t, other.checkout(), "push", "-q", "origin", "main")
}

func TestBaseIsFetchedWhenTheRemoteMovedOn(t *testing.T) {
	t.Parallel()
	for _, depth := range []string{"--depth=1", "--no-single-branch"} {
		t.Run(depth, func(t *testing.T) {
			remote := newRemote(t)
			old, saved := worked(t, remote)
			advance(t, remote)
			here := clone(t, remote, depth)
			later := head(t, here.checkout())
			mustRestore(t, saved, old, here)
			same(t, old.checkout(), here.checkout())
			same(t, filepath.Join(old.root, "beside"), filepath.Join(here.root, "beside"))
			if got := branches(t, here.checkout())["main"]; got != head(t, old.checkout()) {
				t.Errorf("main, which stood at the new checkout's commit: got %q, want it at the saved %q", got, head(t, old.checkout()))
			}
			if _, err := os.Stat(filepath.Join(here.checkout(), "later")); err == nil {
				t.Errorf("file of the new checkout's commit: it is there, want it gone as in commit %s", head(t, here.checkout()))
			}
			shallow := strings.TrimSpace(git(t, here.checkout(), "rev-parse", "--is-shallow-repository"))
			if want := map[bool]string{true: "true", false: "false"}[depth == "--depth=1"]; shallow != want {
				t.Errorf("shallow after the fetch: got %s, want %s", shallow, want)
			}
			git(t, here.checkout(), "fsck", "--connectivity-only")
			git(t, here.checkout(), "cat-file", "-e", later)
		})
	}
}

// TestAFullCloneStaysFull fetches a commit that no branch of the remote has any more.
func TestAFullCloneStaysFull(t *testing.T) {
	remote := newRemote(t)
	old, saved := worked(t, remote)
	git(t, remote, "update-ref", "refs/heads/main", "main~1")
	here := clone(t, remote)
	mustRestore(t, saved, old, here)
	same(t, old.checkout(), here.checkout())
	if got := strings.Count(git(t, here.checkout(), "log", "--format=%H"), "\n"); got != 4 {
		t.Errorf("commits up to HEAD: got %d, want the three of the remote and the saved one", got)
	}
}

func TestBaseThatIsGoneIsAConflict(t *testing.T) {
	remote := newRemote(t)
	old, saved := worked(t, remote)
	other := newRemoteWith(t, "another history\n")
	for name, here := range map[string]site{"other origin": clone(t, other), "no origin": clone(t, other)} {
		t.Run(name, func(t *testing.T) {
			if name == "no origin" {
				git(t, here.checkout(), "remote", "remove", "origin")
			}
			_, err := restore(t, saved, old, here)
			var conflict *workspace.Conflict
			if !errors.As(err, &conflict) || !strings.Contains(conflict.What, "is neither in the repository nor available from origin") {
				t.Errorf("error: got %v, want a conflict about the missing commit", err)
			}
		})
	}
}

func newRemoteWith(t *testing.T, content string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "remote")
	git(t, "/", "init", "-q", "-b", "main", dir)
	write(t, dir, "other", content)
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", content)
	return dir
}

// TestTokenIsShownToItsServerAlone has an origin at one server and a token for that
// one, or for another.
func TestTokenIsShownToItsServerAlone(t *testing.T) {
	remote := newRemote(t)
	old, saved := worked(t, remote)
	var mu sync.Mutex // guards seen
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Values("Authorization")...)
		http.NotFound(w, r)
	}))
	defer server.Close()
	want := "basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:secret"))
	for _, test := range []struct {
		server string
		want   []string
	}{
		{server.URL, []string{want}},
		{server.URL + "/", []string{want}},
		{server.URL + "/sub", nil},
		{strings.Replace(server.URL, "http:", "https:", 1), nil},
		{server.URL + "0", nil},
		{"", nil},
	} {
		here := clone(t, newRemoteWith(t, "x"))
		git(t, here.checkout(), "remote", "set-url", "origin", server.URL+"/owner/repo")
		if test.want != nil { // what a checkout may have kept would be shown too
			git(t, here.checkout(), "config", "http."+server.URL+"/.extraheader", "AUTHORIZATION: basic stale")
		}
		mu.Lock()
		seen = nil
		mu.Unlock()
		r := workspace.Restoring{From: saved, Dir: relocated(old, here), TempRoot: t.TempDir(), Token: "secret", ServerURL: test.server}
		_, err := new(workspace.Git).Restore(context.Background(), r)
		var conflict *workspace.Conflict
		if !errors.As(err, &conflict) || strings.Contains(err.Error(), "secret") {
			t.Errorf("token for %q: got error %v, want a conflict without the token", test.server, err)
		}
		mu.Lock()
		if got := slices.Compact(seen); !slices.Equal(got, test.want) {
			t.Errorf("token for %q, origin at %s: got headers %q, want %q", test.server, server.URL, got, test.want)
		}
		mu.Unlock()
		config := read(t, here.checkout(), ".git/config")
		if strings.Contains(config, "secret") || strings.Contains(config, strings.TrimPrefix(want, "basic ")) {
			t.Errorf("config: got %q, want it without the token", config)
		}
	}
}

func TestWhereATokenMayGo(t *testing.T) {
	for _, test := range []struct {
		origin, server string
		want           bool
	}{
		{"https://github.com/o/r", "https://github.com", true},
		{"https://github.com/o/r.git", "https://github.com/", true},
		{"https://git.example.com/sub/o/r", "https://git.example.com/sub", true},
		{"http://localhost:3000/o/r", "http://localhost:3000", true},
		{"https://git.example.com/other/o/r", "https://git.example.com/sub", false},
		{"https://git.example.com/subway/o/r", "https://git.example.com/sub", false},
		{"https://github.com@example.com/o/r", "https://github.com", false},
		{"https://github.com.example.com/o/r", "https://github.com", false},
		{"http://github.com/o/r", "https://github.com", false},
		{"https://github.com:444/o/r", "https://github.com", false},
		{"git@github.com:o/r", "https://github.com", false},
		{"ssh://github.com/o/r", "ssh://github.com", false},
		{"/o/r", "", false},
		{"file:///o/r", "file://", false},
	} {
		if got := workspace.IsBelow(test.origin, test.server); got != test.want {
			t.Errorf("token of %q to %q: got %v, want %v", test.server, test.origin, got, test.want)
		}
	}
}

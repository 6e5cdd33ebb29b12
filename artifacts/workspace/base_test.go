package workspace_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// advance pushes a new commit to the main branch of a remote.
func advance(t *testing.T, remote string) {
	t.Helper()
	sh(t, clone(t, remote).checkout(), "echo moved on > a; echo only later > later; git add -A; git commit -q -m later; git push -q origin main")
}

func TestBaseIsFetchedWhenTheRemoteMovedOn(t *testing.T) {
	t.Parallel()
	for _, depth := range []string{"--depth=1", "--no-single-branch"} {
		t.Run(depth, func(t *testing.T) {
			remote := ownRemote(t)
			old, saved := worked(t)
			advance(t, remote)
			here := clone(t, remote, depth)
			later := head(t, here.checkout())
			mustRestore(t, saved, old, here)
			same(t, old.checkout(), here.checkout())
			same(t, filepath.Join(old.root, "beside"), filepath.Join(here.root, "beside"))
			assert.Check(t, is.Equal(branches(t, here.checkout())["main"], head(t, old.checkout())), "branch main, which was at the new checkout's commit")
			if _, err := os.Stat(filepath.Join(here.checkout(), "later")); err == nil {
				t.Errorf("file of the new checkout's commit: it exists; commit %s doesn't have it", head(t, here.checkout()))
			}
			shallow := strings.TrimSpace(git(t, here.checkout(), "rev-parse", "--is-shallow-repository"))
			assert.Check(t, is.Equal(shallow, map[bool]string{true: "true", false: "false"}[depth == "--depth=1"]), "shallow after the fetch")
			git(t, here.checkout(), "fsck", "--connectivity-only")
			git(t, here.checkout(), "cat-file", "-e", later)
		})
	}
}

// TestMissingBaseIsAConflict checks that a restore fails with a *Conflict if the base commit can't be
// fetched, if the repository lacks an origin, or if the repository is missing.
func TestMissingBaseIsAConflict(t *testing.T) {
	old, saved := worked(t)
	other := otherRemote(t, "another history\n")
	without := clone(t, other)
	git(t, without.checkout(), "remote", "remove", "origin")
	const gone = "is neither in the repository nor available from origin"
	for name, test := range map[string]struct {
		here site
		want string
	}{"other origin": {clone(t, other), gone}, "no origin": {without, gone}, "no repository": {site{t.TempDir()}, "there is no git repository"}} {
		_, err := restore(t, saved, old, test.here)
		var conflict *workspace.Conflict
		if !errors.As(err, &conflict) || conflict.Dir != test.here.checkout() || !strings.Contains(conflict.What, test.want) {
			t.Errorf("%s: got error %v, want a conflict at %s with %q", name, err, test.here.checkout(), test.want)
		}
	}
}

// TestTokenIsOnlySentToItsServer checks that a fetch sends the token if origin is on the token's server, and
// sends no token if it is on another server.
func TestTokenIsOnlySentToItsServer(t *testing.T) {
	server, requests := listener(t, http.NotFound)
	want := "basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:secret"))
	for _, test := range []struct {
		server, origin string
		want           []string
	}{
		{server.URL, server.URL + "/owner/repo", []string{want}},
		{server.URL, "ssh://git@127.0.0.1/owner/repo", []string{want}}, // jobs have no SSH key, so this address is converted to HTTPS
		{server.URL, "git@127.0.0.1:owner/repo.git", []string{want}},
		{server.URL + "0", server.URL + "/owner/repo", nil},
	} {
		requests.headers = nil
		here, err := fetching(t, &workspace.Git{}, test.origin, test.server)
		assert.Check(t, isConflict(err) && !strings.Contains(err.Error(), "secret"), "token for %q: got error %v, want a conflict without the token", test.server, err)
		got := slices.DeleteFunc(slices.Compact(requests.headers), func(header string) bool { return header == "" })
		assert.Check(t, slices.Equal(got, test.want), "token for %q, origin at %s: got headers %q, want %q", test.server, test.origin, got, test.want)
		config := read(t, here.checkout(), ".git/config")
		assert.Check(t, !strings.Contains(config, "secret") && !strings.Contains(config, strings.TrimPrefix(want, "basic ")), "config: got %q, want it without the token", config)
	}
}

func TestTokenBelongsToItsServer(t *testing.T) {
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
		assert.Check(t, is.Equal(workspace.IsBelow(test.origin, test.server), test.want), "token of %q to %q", test.server, test.origin)
	}
}

// fetching restores a save in a checkout with another history, so that commits must be fetched. The parameter
// origin is the URL of the checkout's origin. fetching gives g a token for the server at the URL server.
func fetching(t *testing.T, g *workspace.Git, origin, server string) (here site, err error) {
	t.Helper()
	old, saved := worked(t)
	here = clone(t, otherRemote(t, "x"))
	git(t, here.checkout(), "remote", "set-url", "origin", origin)
	// actions/checkout may store a token in this setting. It must be ignored.
	git(t, here.checkout(), "config", "http."+server+"/.extraheader", "AUTHORIZATION: basic stale")
	g.Token, g.ServerURL = "secret", server
	_, err = g.Restore(t.Context(), workspace.RestoreRequest{From: saved, Dir: relocated(old, here)})
	return here, err
}

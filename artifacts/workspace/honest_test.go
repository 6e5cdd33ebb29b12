//go:build unix

package workspace_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestWhatACheckoutSetsUpIsUsed: without a token, the header that actions/checkout kept
// for the server is shown to it; an address by SSH of the server is asked over HTTP.
func TestWhatACheckoutSetsUpIsUsed(t *testing.T) {
	old, saved := worked(t)
	kept := "basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:kept"))
	for _, test := range []struct{ key, origin, token, want string }{
		{"http.FORGE/.extraheader", "FORGE/owner/repo", "", kept},
		{"http.FORGE/.extraheader", "ssh://git@HOST/owner/repo", "", kept},
		{"http.FORGE/.extraheader", "git@HOST:owner/repo.git", "", kept},
		{"http.FORGE/.extraheader", "FORGE/owner/repo", "new", "basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:new"))},
		{"http.http://127.0.0.1/.extraheader", "FORGE/owner/repo", "", ""},
		{"http.extraheader", "FORGE/owner/repo", "", ""},
	} {
		forge, asked := listener(t, http.NotFound)
		here := clone(t, otherRemote(t, "x"))
		fill := strings.NewReplacer("FORGE", forge.URL, "HOST", "127.0.0.1")
		git(t, here.checkout(), "remote", "set-url", "origin", fill.Replace(test.origin))
		git(t, here.checkout(), "config", fill.Replace(test.key), "AUTHORIZATION: "+kept)
		r := workspace.Restoring{From: saved, Dir: relocated(old, here), Token: test.token, ServerURL: forge.URL}
		_, err := new(workspace.Git).Restore(t.Context(), r)
		if err == nil || len(asked.headers) == 0 || asked.headers[0] != test.want {
			t.Errorf("%+v: got headers %q (restore: %v), want %q", test, asked.headers, err, test.want)
		}
	}
}

// TestPartialClonesFetchWhatTheyLack restores to a checkout whose files were left out.
func TestPartialClonesFetchWhatTheyLack(t *testing.T) {
	remote := ownRemote(t)
	git(t, remote, "config", "uploadpack.allowFilter", "true")
	git(t, remote, "config", "uploadpack.allowAnySHA1InWant", "true")
	old, saved := worked(t)
	advance(t, remote)
	here := clone(t, remote, "--filter=blob:none") // it has the commit, and not its files
	mustRestore(t, saved, old, here)
	same(t, old.checkout(), here.checkout())
}

// TestLineEndsAreThoseOfTheUser: how line ends are converted is often set for a user,
// and such files are not changed.
func TestLineEndsAreThoseOfTheUser(t *testing.T) {
	remote := sharedRemote(t)
	s := site{t.TempDir()}
	git(t, s.root, "-c", "core.autocrlf=true", "clone", "-q", "file://"+remote, s.checkout())
	later := filepath.Join(s.checkout(), "a")
	data, err := os.ReadFile(later)
	if err != nil || !strings.Contains(string(data), "\r\n") {
		t.Fatalf("file of the checkout: got %q (%v), want it with other line ends", data, err)
	}
	if err := os.Remove(later); err != nil {
		t.Fatal(err)
	}
	write(t, s.checkout(), "a", string(data)) // git has to look into it
	for settings, want := range map[string]bool{"[core]\n\tautocrlf = true\n": false, "": true} {
		g := &workspace.Git{Env: homeWith(t, settings)}
		saved := save(t, g, workspace.Saving{Dirs: []string{s.checkout()}, Base: head(t, s.checkout())})
		if saved.Held != want {
			t.Errorf("settings %q: got work %v, want %v (%v)", settings, saved.Held, want, slices.Sorted(slices.Values(saved.Notes)))
		}
	}
}

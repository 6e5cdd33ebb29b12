package workspace_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// past is a repository whose states have changed since a run began, and what a fork
// has pushed to the same server.
type past struct {
	t                            *testing.T
	remote                       string
	began, now                   string // on main
	head, lost, merge, lostMerge string // of a pull request: its head, one that was forced away, and what they were tried as
	foreign, evil                string // of a fork: a commit, and a merge of it with main
}

func newPast(t *testing.T) *past {
	p := &past{t: t, remote: newRemote(t)}
	dir := clone(t, p.remote).checkout()
	push := func(to string) { git(t, dir, "push", "-q", "--force", "origin", "HEAD:"+to) }
	commit := func(text string) string {
		write(t, dir, "wf/START.sh", text+"\n")
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", text)
		return head(t, dir)
	}
	merged := func(into, other string) string {
		git(t, dir, "checkout", "-q", "--detach", into)
		git(t, dir, "merge", "-q", "--no-ff", "-X", "theirs", "-m", "merge", other)
		return head(t, dir)
	}
	p.began = commit("began")
	push("refs/heads/main")
	git(t, dir, "checkout", "-q", "--detach", p.began)
	p.lost = commit("lost")
	git(t, dir, "checkout", "-q", "--detach", p.began)
	p.head = commit("head")
	push("refs/heads/topic")
	p.merge, p.lostMerge = merged(p.began, p.head), ""
	push("refs/pull/7/merge")
	p.lostMerge = merged(p.began, p.lost)
	push("refs/pull/7/old")
	git(t, dir, "checkout", "-q", "--detach", p.began)
	p.foreign = commit("foreign")
	push("refs/pull/8/head")
	p.evil = merged(p.began, p.foreign)
	push("refs/pull/8/merge")
	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "reset", "-q", "--hard", p.began)
	p.now = commit("now")
	push("refs/heads/main")
	return p
}

// recall gets the states of a commit in a checkout of main.
func (p *past) recall(commit string, shallow bool, edit func(*workspace.Past)) (string, error) {
	p.t.Helper()
	var args []string
	if shallow {
		args = []string{"--depth=1"}
	}
	dir, to := clone(p.t, p.remote, args...).checkout(), p.t.TempDir()
	q := workspace.Past{Dir: dir, Commit: commit, Name: "wf", Trusted: []string{p.now}, Temp: p.t.TempDir()}
	if edit != nil {
		edit(&q)
	}
	if err := (&workspace.Git{}).Recall(p.t.Context(), q, to); err != nil {
		return "", err
	}
	return strings.TrimSpace(read(p.t, filepath.Join(to, "wf"), "START.sh")), nil
}

// TestRecallOfWhatIsOurs: from a checkout with all of its history and from one with
// its last commit alone, of the branch that is named and of the own workflow run.
func TestRecallOfWhatIsOurs(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	topic := func(q *workspace.Past) { q.Refs = []string{"refs/heads/main", "refs/heads/topic"} }
	forced := func(q *workspace.Past) {
		topic(q)
		q.IsOwn = func(_ context.Context, commit string) bool { return commit == p.lost }
	}
	for _, tt := range []struct {
		name, commit, want string
		edit               func(*workspace.Past)
	}{
		{"an older commit of main", p.began, "began", nil},
		{"the commit itself", p.now, "now", nil},
		{"the branch has gone on", p.now, "now", func(q *workspace.Past) { q.Trusted, q.Refs = []string{p.began}, []string{"refs/heads/main"} }},
		{"a head of the pull request", p.head, "head", topic},
		{"the merge of it", p.merge, "head", topic},
		{"a head that was forced away", p.lost, "lost", forced},
		{"the merge of that", p.lostMerge, "lost", forced},
	} {
		for _, shallow := range []bool{false, true} {
			if got, err := p.recall(tt.commit, shallow, tt.edit); err != nil || got != tt.want {
				t.Errorf("%s, shallow %t: got %q, %v; want %q", tt.name, shallow, got, err, tt.want)
			}
		}
	}
}

// TestRecallNeedsNoServer where the checkout has all of the history.
func TestRecallNeedsNoServer(t *testing.T) {
	p := newPast(t)
	away := func(q *workspace.Past) { git(t, q.Dir, "remote", "set-url", "origin", "file:///nowhere") }
	if got, err := p.recall(p.began, false, away); err != nil || got != "began" {
		t.Errorf("got %q, %v; want it from the checkout", got, err)
	}
	if got, err := p.recall(p.began, true, away); err == nil || !strings.HasPrefix(err.Error(), "the server: ") {
		t.Errorf("a shallow checkout: got %q, %v; want what the server said", got, err)
	}
}

// TestRecallRefusesOthers: what the server hands out by its name and no branch of
// ours has, a fork's above all, and what it doesn't have.
func TestRecallRefusesOthers(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	all := func(q *workspace.Past) { q.Refs = []string{"refs/heads/main", "refs/heads/topic"} }
	for name, commit := range map[string]string{"a fork's": p.foreign, "the merge of it": p.evil, "forced away": p.lost, "its merge": p.lostMerge} {
		for _, shallow := range []bool{false, true} {
			var foreign *workspace.NotOurs
			if got, err := p.recall(commit, shallow, all); !errors.As(err, &foreign) {
				t.Errorf("%s, shallow %t: got %q, %v; want *NotOurs", name, shallow, got, err)
			}
		}
	}
	for name, edit := range map[string]func(*workspace.Past){
		"no such commit": func(q *workspace.Past) { q.Commit = strings.Repeat("0", 40) },
		"no full name":   func(q *workspace.Past) { q.Commit = "main" },
		"no such folder": func(q *workspace.Past) { q.Name = "nothing" },
		"no repository":  func(q *workspace.Past) { q.Dir = t.TempDir() },
	} {
		var foreign *workspace.NotOurs
		if got, err := p.recall(p.began, false, edit); err == nil || errors.As(err, &foreign) {
			t.Errorf("%s: got %q, %v; want an error", name, got, err)
		}
	}
}

// TestLocate names commit and path of what is in a repository.
func TestLocate(t *testing.T) {
	dir := clone(t, newRemote(t)).checkout()
	g := &workspace.Git{}
	for path, want := range map[string]string{"dir": "dir", "dir/b": "dir/b", ".": ".", "a": "a"} {
		if got := g.Locate(t.Context(), filepath.Join(dir, path)); got.Path != want || got.Commit != head(t, dir) {
			t.Errorf("%s: got %+v, want %q at HEAD", path, got, want)
		}
	}
	if got := g.Locate(t.Context(), t.TempDir()); got != (workspace.Place{}) {
		t.Errorf("no repository: got %+v", got)
	}
}

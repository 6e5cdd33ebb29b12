package workspace_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// change returns a JSON text in which one value is changed. path consists of field names and list indexes.
func change(t testing.TB, data, path string, value any) string {
	t.Helper()
	var top any
	assert.NilError(t, json.Unmarshal([]byte(data), &top))
	at, set := top, func(any) {}
	for step := range strings.SplitSeq(path, ".") {
		switch in := at.(type) {
		case map[string]any:
			at, set = in[step], func(v any) { in[step] = v }
		case []any:
			n, _ := strconv.Atoi(step)
			at, set = in[n], func(v any) { in[n] = v }
		}
	}
	set(value)
	out, err := json.Marshal(top)
	assert.NilError(t, err)
	return string(out)
}

// forgery describes a bundle that contains one forged commit.
type forgery struct {
	part  string // directory in the commit that contains the files; if empty, "work"
	files string // entries in the input format of git mktree, with placeholders for objects; if empty, one file
	about string // commit message
	ref   string
	needs string // commit that the bundle needs; if empty, the checkout's commit
}

// bundle builds the bundle from the objects of a checkout. It also returns the id of the forged commit.
func (f forgery) bundle(t testing.TB, dir string) (data, commit string) {
	t.Helper()
	base, evil := head(t, dir), blob(t, dir, "evil")
	objects := strings.NewReplacer("BLOB", evil, "LINK", blob(t, dir, ".git"), "TREE", mktree(t, dir, "100644 blob "+evil+"\tconfig\n"))
	files := mktree(t, dir, objects.Replace(cmp.Or(f.files, "100644 blob BLOB\tevil\n")))
	part := mktree(t, dir, "040000 tree "+files+"\t"+cmp.Or(f.part, "work")+"\n")
	commit = strings.TrimSpace(pipe(t, dir, f.about, "commit-tree", "-p", base, mktree(t, dir, "040000 tree "+part+"\t0\n")))
	reached := git(t, dir, "rev-list", "--objects", "--missing=allow-any", "--no-object-names", commit, "^"+base)
	return "# v2 git bundle\n-" + cmp.Or(f.needs, base) + "\n" + commit + " " + f.ref + "\n\n" + pipe(t, dir, reached, "pack-objects", "-q", "--stdout"), commit
}

// forge saves a checkout, replaces the save's bundle by the forged one, and returns the directory of the
// save.
func (f forgery) forge(t testing.TB, s site) (to string) {
	t.Helper()
	to = t.TempDir()
	f.ref = "refs/raymond/save"
	data, commit := f.bundle(t, s.checkout())
	saved := t.TempDir()
	save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{s.checkout()}, Base: head(t, s.checkout()), To: saved})
	x := change(t, read(t, saved, "index.json"), "repositories.0.save", commit)
	x = change(t, x, "repositories.0.size", len(data))
	write(t, to, "index.json", change(t, x, "repositories.0.sha256", fmt.Sprintf("%x", sha256.Sum256([]byte(data)))))
	write(t, to, "repo-0.bundle", data)
	return to
}

// mktree creates a tree and returns its id. Objects that the entries name need not exist.
func mktree(t testing.TB, dir, entries string) string {
	t.Helper()
	return strings.TrimSpace(pipe(t, dir, entries, "mktree", "--missing"))
}

// blob creates a blob and returns its id.
func blob(t testing.TB, dir, content string) string {
	t.Helper()
	return strings.TrimSpace(pipe(t, dir, content, "hash-object", "-w", "--stdin"))
}

//go:build unix

package workspace_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestCommittedFilesAreNotFiltered checks that Extract writes the committed content. Neither the working
// tree nor replaced objects, links, filters, uncommitted attributes or the user's settings may change it.
func TestCommittedFilesAreNotFiltered(t *testing.T) {
	s := clone(t, sharedRemote(t))
	dir, mark := s.checkout(), filepath.Join(s.root, "mark")
	sh(t, dir, `mkdir wf; echo 'committed $Id$ $Format:%H$' > wf/START.sh; echo '* filter=committed' > wf/.gitattributes; ln -s /etc/passwd wf/LINK.sh
		git add -A; git commit -q -m states`)
	states := head(t, dir)
	sh(t, dir, "echo edited > wf/START.sh; git commit -qam edited; git replace HEAD~1 HEAD")
	evil := fmt.Sprintf("[filter \"odd\"]\n\tsmudge = echo evil; touch '%s'\n\trequired\n[filter \"committed\"]\n\tsmudge = echo evil; touch '%[1]s'\n"+
		"[core]\n\tattributesFile = %s\n[tar \"tar\"]\n\tcommand = touch '%[1]s'\n", mark, filepath.Join(s.root, "attributes"))
	write(t, s.root, "attributes", "* filter=odd ident export-subst\n")
	write(t, dir, ".git/info/attributes", "* filter=odd ident export-subst\nwf/OTHER.sh export-ignore\n")
	write(t, dir, ".git/config", read(t, dir, ".git/config")+evil)
	to := filepath.Join(t.TempDir(), "to")
	g := &workspace.Git{Env: homeWith(t, evil)}
	assert.NilError(t, g.Extract(t.Context(), workspace.CommitPath{Dir: dir, Commit: states, Name: "wf"}, to))
	assert.Check(t, is.Equal(read(t, to, "wf/START.sh"), "committed $Id$ $Format:%H$\n"), "wf/START.sh: want the committed text")
	for _, path := range []string{mark, filepath.Join(to, "wf/LINK.sh")} {
		_, err := os.Lstat(path)
		assert.Check(t, err != nil, "%s exists: a filter ran, or the link was extracted", path)
	}
	for _, wrong := range []workspace.CommitPath{
		{Dir: dir, Commit: states[:10], Name: "wf"}, {Dir: dir, Commit: "--output=/dev/null", Name: "wf"},
		{Dir: dir, Commit: strings.Repeat("0", 40), Name: "wf"}, {Dir: dir, Commit: states, Name: "nothing"},
	} {
		assert.Check(t, g.Extract(t.Context(), wrong, t.TempDir()) != nil, "%+v: got no error", wrong)
	}
}

// TestForgedObjectsAreNotExtracted stores another file or directory under the hash of a committed one. Git
// itself doesn't notice this. The test checks that Extract fails.
func TestForgedObjectsAreNotExtracted(t *testing.T) {
	for _, name := range []string{":wf/START.sh", ":wf"} {
		dir := clone(t, sharedRemote(t)).checkout()
		sh(t, dir, "mkdir wf; echo committed > wf/START.sh; git add -A; git commit -qm states; echo evil > wf/START.sh; git commit -qam evil")
		id, kind := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD~"+name)), strings.TrimSpace(git(t, dir, "cat-file", "-t", "HEAD"+name))
		content := git(t, dir, "cat-file", kind, "HEAD"+name)
		var loose bytes.Buffer
		w := zlib.NewWriter(&loose)
		fmt.Fprintf(w, "%s %d\x00%s", kind, len(content), content)
		assert.NilError(t, errors.Join(w.Close(), os.Remove(filepath.Join(dir, ".git/objects", id[:2], id[2:]))))
		write(t, dir, filepath.Join(".git/objects", id[:2], id[2:]), loose.String())
		assert.Check(t, is.Equal(git(t, dir, "show", "HEAD~:wf/START.sh"), "evil\n"))
		states := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD~"))
		err := new(workspace.Git).Extract(t.Context(), workspace.CommitPath{Dir: dir, Commit: states, Name: "wf"}, t.TempDir())
		assert.Check(t, err != nil, "%s: got no error", name)
	}
}

// TestBaseIsTheCommitOfTheCheckout checks that Base returns the job's commit even if HEAD has commits on
// top of it.
func TestBaseIsTheCommitOfTheCheckout(t *testing.T) {
	_, dir, started := checkout(t)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "on top")
	head := head(t, dir)
	for _, test := range []struct{ dir, started, want string }{
		{dir, started, started}, {dir, "", head}, {dir, "main", head}, {dir, strings.Repeat("0", 40), head},
		{t.TempDir(), started, ""},
	} {
		assert.Check(t, is.Equal((&workspace.Git{}).Base(t.Context(), test.dir, test.started), test.want), "base of a job that started at %q", test.started)
	}
}

package releasetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// TestTagIsTheCommitWithThePrograms and nothing else, and main stays as it was.
func TestTagIsTheCommitWithThePrograms(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	before := r.at("refs/heads/main")
	const date = "2026-01-02 00:00:00 +0200" // of the commit that is released
	dir := fakes(t, "v1.0.0")
	made := strings.TrimSpace(r.must(t, "release-tag", r.bare, "v1.0.0", before, dir))
	if got := r.at("refs/tags/v1.0.0"); got != made || made == "" {
		t.Errorf("tag v1.0.0: got %q, want the commit %q that was printed", got, made)
	}
	want := r.files(before)
	for _, s := range systems {
		want = append(want, "100755 cmd/shim/bin/"+program(s))
	}
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	if diff := cmp.Diff(want, r.files(made)); diff != "" {
		t.Errorf("files of the tag (-want +got):\n%s", diff)
	}
	for _, s := range systems {
		got := r.git("--git-dir", r.bare, "show", made+":cmd/shim/bin/"+program(s))
		if want := program(s) + " v1.0.0"; got != want {
			t.Errorf("%s in the tag: got %q, want %q", program(s), got, want)
		}
	}
	if got := r.at("refs/heads/main"); got != before || strings.Contains(strings.Join(r.files("main"), "\n"), "bin/") {
		t.Errorf("main after it: got %s, want %s, without programs", got, before)
	}
	if got := r.git("--git-dir", r.bare, "show", "-s", "--format=%P %ci %ai %an", made); got != before+" "+date+" "+date+" raymond-action" {
		t.Errorf("commit of the tag: got %q, want the released one as its only parent, and its date", got)
	}
	if got := r.git("status", "--porcelain"); got != "" {
		t.Errorf("checkout after it: got %q, want it as it was", got)
	}
}

// TestSameProgramsGiveTheSameTag: who builds them again can compare one id.
func TestSameProgramsGiveTheSameTag(t *testing.T) {
	t.Parallel()
	var ids []string
	for range 2 {
		r := newRemote(t)
		ids = append(ids, r.must(t, "release-tag", r.bare, "v1.0.0", r.at("refs/heads/main"), fakes(t, "v1.0.0")))
	}
	if ids[0] != ids[1] {
		t.Errorf("commits of two releases of the same: got %q, want one id", ids)
	}
}

func TestExistingTagIsRefused(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	made := r.release("v1.0.0")
	for _, args := range [][]string{
		{"release-tag", r.bare, "v1.0.0", r.commit("later"), fakes(t, "v1.0.0")},
		{"release-check", r.bare, "v1.0.0"},
	} {
		if e := r.run(t, args[0], args[1:]...); e.code != 1 || !strings.Contains(e.err, "take the next version") {
			t.Errorf("%q: got %+v, want it refused", args, e)
		}
	}
	if got := r.at("refs/tags/v1.0.0"); got != made {
		t.Errorf("tag v1.0.0: got %s, want %s as before", got, made)
	}
}

// TestTagThatCameMeanwhileIsRefused by the push itself.
func TestTagThatCameMeanwhileIsRefused(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	first := r.at("refs/heads/main")
	r.meanwhile("refs/tags/v1.0.0", first)
	e := r.run(t, "release-tag", r.bare, "v1.0.0", first, fakes(t, "v1.0.0"))
	if got := r.at("refs/tags/v1.0.0"); e.code == 0 || got != first {
		t.Errorf("tag that came meanwhile: got %+v and the tag at %s, want it refused and the tag at %s", e, got, first)
	}
}

func TestFilesThatAreNotThoseOfTheChecksumsAreRefused(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(dir string) error{
		"changed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, program(systems[3])), []byte("other"), 0o644)
		},
		"missing": func(dir string) error { return os.Remove(filepath.Join(dir, program(systems[0]))) },
		"no sums": func(dir string) error { return os.Remove(filepath.Join(dir, "SHA256SUMS")) },
	} {
		r := newRemote(t)
		dir := fakes(t, "v1.0.0")
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		e := r.run(t, "release-tag", r.bare, "v1.0.0", r.at("refs/heads/main"), dir)
		if got := r.at("refs/tags/v1.0.0"); e.code == 0 || got != "" {
			t.Errorf("%s: got %+v and the tag at %q, want it refused and no tag", what, e, got)
		}
	}
}

// TestMajorVersionNeverGoesBack: after each release of a list, v1 is where it should be.
func TestMajorVersionNeverGoesBack(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	for _, step := range []struct{ version, want string }{
		{"v1.0.0-rc.1", ""},
		{"v1.0.0", "v1.0.0"},
		{"v1.2.0", "v1.2.0"},
		{"v1.1.1", "v1.2.0"},
		{"v2.0.0", "v1.2.0"},
		{"v1.3.0-rc.1", "v1.2.0"},
		{"v1.10.0", "v1.10.0"},
		{"v1.9.0", "v1.10.0"},
		{"v10.0.0", "v1.10.0"},
		{"v1.10.1", "v1.10.1"},
	} {
		r.release(step.version)
		r.must(t, "release-move", r.bare, step.version)
		want := ""
		if step.want != "" {
			want = r.at("refs/tags/" + step.want)
		}
		if got := r.at("refs/tags/v1"); got != want {
			t.Errorf("v1 after %s: got %q, want %q, which is %s", step.version, got, want, step.want)
		}
	}
	if got, want := r.at("refs/tags/v2"), r.at("refs/tags/v2.0.0"); got != want {
		t.Errorf("v2: got %q, want %q", got, want)
	}
	// Made again, the step of an older release moves nothing.
	last := r.at("refs/tags/v1")
	r.must(t, "release-move", r.bare, "v1.2.0")
	if got := r.at("refs/tags/v1"); got != last {
		t.Errorf("v1 after the older step was run again: got %q, want %q", got, last)
	}
}

// TestMajorVersionMovesFromAFreshCheckout, which has one commit and no tags, as
// the job that does it.
func TestMajorVersionMovesFromAFreshCheckout(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.commit("second")
	made := r.release("v1.0.0")
	fresh := filepath.Join(t.TempDir(), "fresh")
	r.git("clone", "--quiet", "--depth=1", "--no-tags", "file://"+filepath.ToSlash(r.bare), fresh)
	script{root: fresh}.must(t, "release-move", r.bare, "v1.0.0")
	if got := r.at("refs/tags/v1"); got != made {
		t.Errorf("v1: got %q, want %q", got, made)
	}
}

func TestMajorVersionIsNotMovedFromWhatIsNoRelease(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	by := r.commit("by hand")
	r.git("push", "--quiet", r.bare, by+":refs/tags/v1")
	r.release("v1.0.0")
	if e := r.run(t, "release-move", r.bare, "v1.0.0"); e.code != 1 || r.at("refs/tags/v1") != by {
		t.Errorf("v1 that somebody moved: got %+v and v1 at %q, want it refused and v1 at %q", e, r.at("refs/tags/v1"), by)
	}
	candidate := r.release("v1.0.1-rc.1")
	r.git("push", "--quiet", "--force", r.bare, candidate+":refs/tags/v1")
	if e := r.run(t, "release-move", r.bare, "v1.0.0"); e.code != 1 || r.at("refs/tags/v1") != candidate {
		t.Errorf("v1 that somebody moved to a candidate: got %+v, want it refused", e)
	}
	if e := r.run(t, "release-move", r.bare, "v3.0.0"); e.code != 1 || r.at("refs/tags/v3") != "" {
		t.Errorf("version that was not released: got %+v, want it refused", e)
	}
}

// TestMajorVersionThatMovesMeanwhileIsLeft: the newer of two releases wins, though
// both looked before either moved it.
func TestMajorVersionThatMovesMeanwhileIsLeft(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.release("v1.0.0")
	r.must(t, "release-move", r.bare, "v1.0.0")
	r.release("v1.1.0")
	newest := r.release("v1.2.0")
	r.meanwhile("refs/tags/v1", newest)
	if e := r.run(t, "release-move", r.bare, "v1.1.0"); e.code == 0 || r.at("refs/tags/v1") != newest {
		t.Errorf("v1 that moved to v1.2.0 meanwhile: got %+v and v1 at %s, want it refused and v1 at %s", e, r.at("refs/tags/v1"), newest)
	}
}

// TestReleasedTagRunsAsAnAction: the tag's own files, checked out, in a job.
func TestReleasedTagRunsAsAnAction(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.must(t, "release-tag", r.bare, version, r.at("refs/heads/main"), withProgram(t, fakes(t, version)))
	tag := filepath.Join(t.TempDir(), "tag")
	r.git("clone", "--quiet", "--branch", version, r.bare, tag)
	if _, err := os.Stat(filepath.Join(tag, "cmd/shim/bin", program(runtime.GOOS+"/"+runtime.GOARCH))); err != nil {
		t.Fatal(err)
	}
	repo := acttest.Repository(t, `
-- .github/workflows/w.yml --
on: workflow_dispatch
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - id: smoke
        uses: acme/raymond-action@v1
        with: {workflow: flow, resume: never}
`)
	if err := os.CopyFS(filepath.Join(repo, "flow"), os.DirFS(filepath.Join(tag, ".ci", "smoke"))); err != nil {
		t.Fatal(err)
	}
	acttest.Commit(t, repo, "")
	run := acttest.Run(t, acttest.Config{
		Repo: repo, Workflow: ".github/workflows/w.yml", Actions: map[string]string{"acme/raymond-action@v1": tag},
	})
	s := run.Step("one", "smoke")
	if run.Code != 0 || s == nil || s.Outputs["status"] != "completed" || s.Outputs["result"] != "END.sh ran" {
		t.Errorf("step that uses the tag: got %v, want it completed", run)
	}
}

// withProgram puts this system's program among the files of a release.
func withProgram(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, program(runtime.GOOS+"/"+runtime.GOARCH))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/raymond")
	cmd.Dir = acttest.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	sum(t, dir)
	return dir
}

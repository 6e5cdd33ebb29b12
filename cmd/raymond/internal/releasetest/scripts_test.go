package releasetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// TestWhatIsNoVersionIsRefused by every script, before it does anything.
func TestWhatIsNoVersionIsRefused(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, version := range []string{
		"", "1.0.0", "v1", "v1.0", "v1.0.0.0", "v01.0.0", "v1.0.0-beta", "v1.0.0-rc.0", "v1.0.0-rc.1.2", "v1.0.0\n", "v1.0.0\nv1.0.1",
		"v1.0.0;id", "$(id)", "--upload-pack=id", "v1.0.0 -X main.x=y", "refs/heads/main", "v1.0.0/../../heads/main", "v9999999.0.0", "latest",
	} {
		for _, args := range [][]string{
			{"release", out, version},
			{"release-verify", fakes(t, version), version},
			{"release-check", r.bare, version},
			{"release-notes", version},
			{"release-tag", r.bare, version, "HEAD", fakes(t, version)},
			{"release-move", r.bare, version},
			{"release-publish", version, fakes(t, version)},
		} {
			if e := r.run(t, args[0], args[1:]...); e.code != 2 || !strings.Contains(e.err, "want vX.Y.Z") {
				t.Errorf("%q: got %+v, want exit code 2 and what a version is", args, e)
			}
		}
	}
	if refs := r.git("ls-remote", r.bare, "refs/*"); strings.Count(refs, "\n") > 0 {
		t.Errorf("refs of the remote: got %q, want main alone", refs)
	}
}

func TestNotesAreThoseOfTheVersion(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	for version, want := range map[string]string{
		"v1.2.0": "- the second", "v1.0.0": "- the first", "v1.3.0-rc.1": "- not yet",
		"v1.1.0": "", // which says nothing
		"v1.3.0": "", "v2.0.0": "", "v1.2.1": "",
	} {
		e := r.run(t, "release-notes", version)
		if got := strings.TrimSpace(e.out); got != want || (e.code == 0) != (want != "") {
			t.Errorf("notes of %s: got %+v, want %q", version, e, want)
		}
		if checked := r.run(t, "release-check", r.bare, version); checked.code != e.code {
			t.Errorf("release-check of %s: got %+v, want exit code %d as of the notes", version, checked, e.code)
		}
	}
}

// TestReleaseHasAllFilesAndItsNotes: what gh is asked for.
func TestReleaseHasAllFilesAndItsNotes(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.fake(t, "gh", "#!/bin/sh\n[ \"$2\" != view ] || exit 1\nprintf '%s|' \"$@\"\n")
	for version, flags := range map[string]string{
		"v1.2.0":      "release|create|v1.2.0|--verify-tag|--title|v1.2.0|--notes|\n- the second|",
		"v1.3.0-rc.1": "release|create|v1.3.0-rc.1|--verify-tag|--title|v1.3.0-rc.1|--notes|\n- not yet|--prerelease|",
	} {
		dir := fakes(t, version)
		var files []string
		for _, s := range systems {
			files = append(files, filepath.Join(dir, program(s)))
		}
		slices.Sort(files)
		want := flags + strings.Join(append(files, filepath.Join(dir, "SHA256SUMS")), "|") + "|"
		if diff := cmp.Diff(want, r.must(t, "release-publish", version, dir)); diff != "" {
			t.Errorf("gh for %s (-want +got):\n%s", version, diff)
		}
	}
}

// TestARepeatedPublishLeavesTheRelease: the job is repeated when what comes after it
// in the job has failed, and must get there again. A draft is no release yet.
func TestARepeatedPublishLeavesTheRelease(t *testing.T) {
	t.Parallel()
	for isDraft, want := range map[string]string{"false": "v1.2.0 is published already\n", "true": "create", "": "create"} {
		r := newRemote(t)
		gh := "#!/bin/sh\nif [ \"$2\" = view ]; then echo '" + isDraft + "'; [ -n '" + isDraft + "' ]; exit; fi\nprintf %s \"$2\"\n"
		r.fake(t, "gh", gh)
		if got := r.must(t, "release-publish", "v1.2.0", fakes(t, "v1.2.0")); got != want {
			t.Errorf("a release that is a draft: %q: got %q, want %q", isDraft, got, want)
		}
	}
}

// TestReleaseGoesOneWay: nothing is signed before all tests passed, nothing is
// tagged before it is signed, nothing is published or moved before the tag was
// used on every system, and no job may do more than its own part.
func TestReleaseGoesOneWay(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(acttest.Root(t), ".github", "workflows", "release.yml"))
	if err != nil {
		t.Fatal(err)
	}
	type needs []string
	var w struct {
		Jobs map[string]struct {
			Needs       yaml.Node
			Permissions map[string]string
			Steps       []struct{ Uses, Run string }
		}
	}
	if err := yaml.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	got, may, runs := map[string]needs{}, map[string]string{}, map[string]string{}
	for name, j := range w.Jobs {
		for _, n := range append([]*yaml.Node{&j.Needs}, j.Needs.Content...) {
			if n.Kind == yaml.ScalarNode {
				got[name] = append(got[name], n.Value)
			}
		}
		for scope, right := range j.Permissions {
			if right == "write" {
				may[scope] += name + " "
			}
		}
		for _, s := range j.Steps {
			if script, _, _ := strings.Cut(s.Run, " "); strings.HasPrefix(script, ".ci/") {
				runs[name] += script + " "
				info, err := os.Stat(filepath.Join(acttest.Root(t), filepath.FromSlash(script)))
				if err != nil || info.Mode()&0o100 == 0 {
					t.Errorf("job %s runs %s: got %v, want a script", name, script, err)
				}
			}
		}
	}
	if diff := cmp.Diff(map[string]needs{
		"ci": {"check"}, "build": {"check"}, "attest": {"ci", "build"}, "tag": {"attest"}, "smoke": {"tag"}, "publish": {"smoke"},
	}, got); diff != "" {
		t.Errorf("what jobs wait for (-want +got):\n%s", diff)
	}
	if may["id-token"] != "attest " || may["attestations"] != "attest " || len(may) != 3 {
		t.Errorf("jobs that may write: got %q, want attest alone to sign, and contents else", may)
	}
	want := map[string]string{
		"check": ".ci/release-check ", "build": ".ci/release .ci/release-verify .ci/release-same ", "tag": ".ci/release-tag ", "publish": ".ci/release-publish .ci/release-move ",
	}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Errorf("scripts of the jobs (-want +got):\n%s", diff)
	}
}

package workflowtest

import (
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// week is how many days a version has to be out before it is proposed: what is
// planted in one is mostly found within them.
const week = 7

// aged pins an old client on purpose: users have it.
const aged = "/artifacts/officialtest/v2"

type updates struct {
	Ecosystem   string   `yaml:"package-ecosystem"`
	Directory   string   `yaml:"directory"`
	Directories []string `yaml:"directories"`
	Cooldown    struct {
		Days int `yaml:"default-days"`
	} `yaml:"cooldown"`
	Execution string `yaml:"insecure-external-code-execution"`
}

func (u updates) folders() []string {
	if u.Directory != "" {
		return append(u.Directories, u.Directory)
	}
	return u.Directories
}

// covers reports whether the updates look at a folder, "/" for the root.
func (u updates) covers(folder string) bool {
	return slices.ContainsFunc(u.folders(), func(pattern string) bool {
		ok, err := path.Match(pattern, folder)
		return err == nil && ok
	})
}

func dependabot(t *testing.T) []updates {
	t.Helper()
	var file struct{ Updates []updates }
	if err := yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &file); err != nil {
		t.Fatal(err)
	}
	return file.Updates
}

func TestUpdatesWaitAWeekAndRunNothing(t *testing.T) {
	for _, u := range dependabot(t) {
		if u.Cooldown.Days < week {
			t.Errorf("dependabot.yml, %s: got a cooldown of %d days, want %d", u.Ecosystem, u.Cooldown.Days, week)
		}
		if u.Execution != "" && u.Execution != "deny" {
			t.Errorf("dependabot.yml, %s: insecure-external-code-execution: got %q, want deny", u.Ecosystem, u.Execution)
		}
	}
}

// TestEveryPinnedFileGetsUpdates: each file that pins versions is in a folder
// that dependabot looks at.
func TestEveryPinnedFileGetsUpdates(t *testing.T) {
	ecosystems := map[string]string{"go.mod": "gomod", "package-lock.json": "npm", "action.yml": "github-actions"}
	all, seen := dependabot(t), 0
	for name := range pinned(t, ecosystems) {
		seen++
		folder := path.Join("/", path.Dir(name))
		ecosystem := ecosystems[path.Base(name)]
		if folder != aged && !slices.ContainsFunc(all, func(u updates) bool { return u.Ecosystem == ecosystem && u.covers(folder) }) {
			t.Errorf("dependabot.yml: got no updates of %s for %s, want %s among the folders", ecosystem, name, folder)
		}
	}
	if seen < 6 {
		t.Errorf("files that pin versions: got %d, want at least 6", seen)
	}
}

// pinned returns the files of the repository with one of the names.
func pinned(t *testing.T, names map[string]string) iter.Seq[string] {
	t.Helper()
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS(acttest.Root(t)), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".raymond") {
			return fs.SkipDir
		}
		if names[d.Name()] != "" && !d.IsDir() {
			found[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys(found)
}

func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

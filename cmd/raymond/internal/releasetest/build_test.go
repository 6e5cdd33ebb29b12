package releasetest

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// version is one whose digits no other text of a program has.
const version = "v98.76.54"

// largest is how large a program may be; six of them are downloaded by each job
// that uses the action. One template of text/template costs 4 MiB: with one the
// linker has to keep every method.
const largest = 14 << 20

var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// tried are the systems that the tests build for: this one, and one that differs
// from it in everything. A release builds for all of them.
var tried = []string{runtime.GOOS + "/" + runtime.GOARCH, other()}

func other() string {
	if runtime.GOOS == "windows" {
		return "darwin/arm64"
	}
	return "windows/arm64"
}

func program(system string) string {
	name := "raymond-" + strings.ReplaceAll(system, "/", "-")
	if strings.HasPrefix(system, "windows") {
		name += ".exe"
	}
	return name
}

// release is the folder of the files of a release, which all tests share.
var release struct {
	once sync.Once
	dir  string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		panic(err)
	}
	release.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// built returns the folder of a release for these systems, built from this
// repository.
func built(t *testing.T) string {
	t.Helper()
	release.once.Do(func() {
		script{root: acttest.Root(t)}.must(t, "release", append([]string{release.dir, version}, tried...)...)
	})
	if _, err := os.Stat(filepath.Join(release.dir, "SHA256SUMS")); err != nil {
		t.Fatalf("the release was not built: %v", err)
	}
	return release.dir
}

// digests are the SHA-256 sums of a folder's files, by name.
func digests(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sums[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return sums
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestEverySystemHasItsProgram, small, without the folders of who built it.
func TestEverySystemHasItsProgram(t *testing.T) {
	dir := built(t)
	for _, system := range tried {
		path := filepath.Join(dir, program(system))
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", system, err)
			continue
		}
		got := map[string]string{}
		for _, s := range info.Settings {
			got[s.Key] = s.Value
		}
		if s := got["GOOS"] + "/" + got["GOARCH"]; s != system || got["CGO_ENABLED"] != "0" || got["-trimpath"] != "true" {
			t.Errorf("%s: got %v, want a program for the system, without cgo", path, got)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > largest {
			t.Errorf("%s: got %d bytes, want at most %d", path, len(data), largest)
		}
		for _, private := range []string{acttest.Root(t), goEnv(t, "GOMODCACHE"), goEnv(t, "GOROOT")} {
			if strings.Contains(string(data), private) {
				t.Errorf("%s: got the folder %s in it, want no path of this machine", path, private)
			}
		}
		if !strings.Contains(string(data), version) {
			t.Errorf("%s: got no %s in it, want the version of the release", path, version)
		}
	}
}

func TestProgramTellsItsVersion(t *testing.T) {
	path := filepath.Join(built(t), program(runtime.GOOS+"/"+runtime.GOARCH))
	out, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
	if want := "raymond version " + version + "\n"; err != nil || string(out) != want {
		t.Errorf("%s --version: got %q, %v, want %q", path, out, err, want)
	}
}

func TestChecksumsAreThoseOfTheFiles(t *testing.T) {
	want := digests(t, built(t))
	delete(want, "SHA256SUMS")
	data, err := os.ReadFile(filepath.Join(built(t), "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			t.Errorf("SHA256SUMS: got the line %q, want a sum, two blanks and a name", line)
		}
		got[name] = sum
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 2*len(tried) {
		t.Errorf("SHA256SUMS of %d files (-files +sums):\n%s", len(want), diff)
	}
}

// TestListsNameEveryModule that the go command says is in the program.
func TestListsNameEveryModule(t *testing.T) {
	sums := digests(t, built(t))
	for _, system := range tried {
		var list struct {
			Metadata struct {
				Component struct {
					Version string
					Hashes  []struct{ Content string }
				}
			}
			Components []struct{ Name, Version, PURL string }
		}
		data, err := os.ReadFile(filepath.Join(built(t), program(system)+".cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range list.Components {
			got = append(got, c.Name+" "+c.Version)
			if want := "pkg:golang/" + c.Name + "@" + c.Version; c.PURL != want {
				t.Errorf("%s: address of %s: got %q, want %q", system, c.Name, c.PURL, want)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(modules(t, system), got); diff != "" {
			t.Errorf("%s: modules (-go list +SBOM):\n%s", system, diff)
		}
		main := list.Metadata.Component
		if main.Version != version || len(main.Hashes) != 1 || main.Hashes[0].Content != sums[program(system)] {
			t.Errorf("%s: got %+v, want version %s and hash %s", system, main, version, sums[program(system)])
		}
	}
}

// modules are those of the packages that the program is built of, and Go's own.
func modules(t *testing.T, system string) []string {
	t.Helper()
	goos, goarch, _ := strings.Cut(system, "/")
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/raymond")
	cmd.Dir = acttest.Root(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := os.ReadFile(filepath.Join(cmd.Dir, ".ci", "go-version"))
	if err != nil {
		t.Fatal(err)
	}
	all := append(strings.Split(strings.TrimSpace(string(out)), "\n"), "stdlib "+strings.TrimSpace(string(pinned)))
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

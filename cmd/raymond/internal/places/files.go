package places

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// devices may be written. Those that a machine lacks are left out.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm",
}

// Value is a variable of an environment; "" for none.
func Value(environ []string, name string) string {
	found := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			found = v
		}
	}
	return found
}

// homeOf is the home folder of an environment; "" where it names none.
func homeOf(environ []string) string { return absolute(Value(environ, "HOME")) }

// absolute is a path that is one, cleaned; "" for any other.
func absolute(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

// outermost are the paths that exist, without links and without those below others: who
// may write a folder may replace what is in it, and it must not be looked up again.
func outermost(paths []string) []string {
	var all []string
	for _, p := range paths {
		if r := cage.Resolve(p); r != "" {
			all = append(all, r)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return other != p && cage.IsWithin(p, other) })
	})
}

// credentials are the places below the home folder where programs keep keys and
// logins, without those that an agent CLI needs.
func credentials(environ, needed []string) []string {
	home := homeOf(environ)
	if home == "" {
		return nil
	}
	var out []string
	for _, name := range []string{
		".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".config/gh", ".config/hub", ".kube", ".docker/config.json", ".netrc",
		".git-credentials", ".config/git/credentials", ".pypirc", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml",
		".terraform.d/credentials.tfrc.json", ".vault-token",
	} {
		if path := filepath.Join(home, filepath.FromSlash(name)); !slices.Contains(needed, path) {
			out = append(out, path)
		}
	}
	return out
}

// runners are the folders of CI runners, with their keys, settings and logs: those that the job's folders lie in,
// and those in the home folder, whoever's.
func runners(at Site, home string) []string {
	var found []string
	add := func(dir string) {
		if _, err := os.Lstat(filepath.Join(dir, ".runner")); err == nil {
			found = append(found, dir)
		}
	}
	for _, dir := range []string{at.Temp, at.Workspace} {
		// What lies in the workspace may be an agent's.
		for up := filepath.Dir(cage.Resolve(dir)); len(up) > 1; up = filepath.Dir(up) {
			add(up)
		}
	}
	inHome, _ := os.ReadDir(cmp.Or(home, os.DevNull)) // who can't list it finds none
	for _, e := range inHome {
		add(filepath.Join(home, e.Name()))
	}
	return found
}

// ofRunners is what programs need of the folders of runners: tools, and what is on PATH.
func ofRunners(environ, folders []string) []string {
	paths := append(filepath.SplitList(Value(environ, "PATH")), Value(environ, "RUNNER_TOOL_CACHE"), Value(environ, "AGENT_TOOLSDIRECTORY"))
	return slices.DeleteFunc(paths, func(path string) bool {
		at := cage.Resolve(absolute(path))
		return at == "" || !slices.ContainsFunc(folders, func(dir string) bool { return at != dir && cage.IsWithin(at, dir) })
	})
}

// startFiles are what shells and git run or obey, below the home folder.
var startFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".config/fish",
	".gitconfig", ".config/git", ".npmrc",
}

// guardedFolders are what must stay as it is, whatever a user lets agents write: the
// home folder with its start files, and the folders on PATH outside of the workspace.
func guardedFolders(home string, at Site) []string {
	out := slices.Clone(at.CLIs.Guarded)
	if home != "" {
		out = append(out, home)
	}
	for _, name := range startFiles {
		if home != "" {
			out = append(out, filepath.Join(home, filepath.FromSlash(name)))
		}
	}
	for _, dir := range filepath.SplitList(Value(at.Environ, "PATH")) {
		if dir = cage.Resolve(absolute(dir)); dir != "" && !cage.IsWithin(dir, cage.Resolve(at.Workspace)) {
			out = append(out, dir)
		}
	}
	return out
}

// made are folders of agent CLIs, made where they are missing: a path that isn't there gets no
// right.
func made(folders []string) []string {
	for _, dir := range folders {
		_ = os.MkdirAll(dir, 0o700) // where it can't be made, the CLI can't either
	}
	return folders
}

// caches are those of package managers, below the home folder. With a program they are
// made where that is installed; without one they are used where they are.
var caches = []struct {
	path, variable, program string
	isFile                  bool
}{
	{path: ".cache", variable: "XDG_CACHE_HOME", program: "sh"},
	{path: ".npm", variable: "npm_config_cache", program: "npm"},
	{path: "go/pkg", program: "go"},
	{variable: "GOMODCACHE"},
	{variable: "GOCACHE"},
	{variable: "PIP_CACHE_DIR"},
	{variable: "YARN_CACHE_FOLDER"},
	{path: ".yarn/berry"},
	{path: ".local/share/pnpm/store", program: "pnpm"},
	{path: ".bun/install/cache", program: "bun"},
	{path: ".cargo/registry", program: "cargo"},
	{path: ".cargo/git", program: "cargo"},
	{path: ".cargo/.package-cache", program: "cargo", isFile: true},
	{path: ".cargo/.package-cache-mutate", program: "cargo", isFile: true},
	{path: ".cargo/.global-cache", program: "cargo", isFile: true},
	{path: ".gradle/caches", program: "java"},
	{path: ".gradle/daemon", program: "java"},
	{path: ".gradle/native", program: "java"},
	{path: ".gradle/wrapper", program: "java"},
	{path: ".m2/repository", program: "java"},
	{path: ".m2/wrapper", program: "java"},
	{path: ".nuget/packages", variable: "NUGET_PACKAGES", program: "dotnet"},
	{path: ".composer/cache", program: "composer"},
}

// sharedCaches are the package caches of this machine, made where their program is
// there. One that contains something guarded is left out, and the variables that are
// returned name one below own in its place.
func sharedCaches(environ, guarded []string, own string) (paths, variables []string) {
	home := homeOf(environ)
	for _, c := range caches {
		path := ""
		if c.variable != "" {
			path = absolute(Value(environ, c.variable))
		}
		if path == "" && c.path != "" && home != "" {
			path = filepath.Join(home, filepath.FromSlash(c.path))
		}
		if path == "" {
			continue
		}
		isThere := func() bool { return c.program != "" && isInstalled(environ, c.program) }
		at := cage.Resolve(path)
		if at == "" && isThere() {
			makeCache(path, c.isFile)
			at = cage.Resolve(path)
		}
		switch {
		case at == "":
		case !slices.ContainsFunc(guarded, func(g string) bool { return cage.IsWithin(g, at) }):
			paths = append(paths, at)
		case c.variable != "" && isThere():
			variables = append(variables, c.variable+"="+filepath.Join(own, ".cache", c.program))
		}
	}
	return paths, variables
}

// makeCache makes a cache that is missing. Where it can't be made, its program can't
// make it either.
func makeCache(path string, isFile bool) {
	if isFile {
		_ = files.WriteNew(path, nil, 0o644)
		return
	}
	_ = os.MkdirAll(path, 0o755)
}

// isInstalled reports whether PATH of an environment leads to a program.
func isInstalled(environ []string, program string) bool {
	return slices.ContainsFunc(filepath.SplitList(Value(environ, "PATH")), func(dir string) bool {
		if !filepath.IsAbs(dir) {
			return false
		}
		_, err := exec.LookPath(filepath.Join(dir, program))
		return err == nil
	})
}

// ownCaches are caches that no later step of the job reads: what agents put there can
// poison nobody.
func ownCaches(own string) []string {
	in := func(name string) string { return filepath.Join(own, ".cache", name) }
	return []string{
		"XDG_CACHE_HOME=" + in("xdg"), "npm_config_cache=" + in("npm"), "GOMODCACHE=" + in("gomod"), "GOCACHE=" + in("gobuild"),
		"PIP_CACHE_DIR=" + in("pip"), "YARN_CACHE_FOLDER=" + in("yarn"), "CARGO_HOME=" + in("cargo"), "GRADLE_USER_HOME=" + in("gradle"),
		"NUGET_PACKAGES=" + in("nuget"), "MAVEN_ARGS=-Dmaven.repo.local=" + in("maven"),
	}
}

// shownByVariables are the files and folders below the job's temporary folder that
// variables of agents name: the payload of the event, certificates, tools.
func shownByVariables(at Site) []string {
	temp := cage.Resolve(at.Temp)
	var out []string
	for _, kv := range at.Environ {
		_, v, _ := strings.Cut(kv, "=")
		for _, path := range filepath.SplitList(v) {
			path = cage.Resolve(absolute(cmp.Or(path, ".")))
			if path == "" || path == temp || !cage.IsWithin(path, temp) || slices.ContainsFunc(at.Hidden, func(h string) bool {
				h = cmp.Or(cage.Resolve(h), h)
				return cage.IsWithin(path, h) || cage.IsWithin(h, path)
			}) {
				continue
			}
			out = append(out, path)
		}
	}
	return out
}

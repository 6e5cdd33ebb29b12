package confine

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// filePolicy returns the policy for the files that agents may read and write. The parameter git lists the
// directories with git's data about the run's worktree, which agents may write. The parameter shown lists
// paths in the home directory and elsewhere that agents may read, and k lists the hidden paths.
func (at *Site) filePolicy(git, shown []string, k hiddenPaths) cage.Policy {
	writable := Outermost(slices.Concat([]string{cage.Resolve(at.Dir), at.own}, git, at.write, devices))
	readable := slices.Concat(cage.SystemPaths(), linksIn("/etc"), shown, at.fromVariables(k), []string{at.top(), filepath.Join(at.goModules(), "cache", "download")})
	// Writable paths are left out, because agents can read them anyway, and also paths that agents can redirect by a link,
	// or may have redirected in an earlier run.
	theirs := append(slices.Clone(writable), at.Dir, at.Workspace, cage.Resolve(at.Workspace))
	var safe []string
	for _, path := range readable {
		target := cmp.Or(cage.Resolve(path), absolute(path)) // a path that doesn't exist yet is used without resolving links
		if target != "" && !isIn(target, writable) && (!isIn(path, theirs) || isIn(target, theirs)) {
			safe = append(safe, target)
		}
	}
	return cage.Policy{Writable: writable, Readable: safe, Hidden: k.roots}
}

// hiddenRoots returns the directories that are hidden. Only paths in them that the policy names are
// visible. They include the directories of CI runners, which contain keys, settings and logs.
func (at *Site) hiddenRoots() []string {
	roots := slices.Clone(at.Hidden)
	for _, dir := range []string{at.Temp, at.Workspace} {
		// Agents may have written files in the workspace, so the search for a runner begins above it.
		for up := filepath.Dir(cage.Resolve(dir)); filepath.Dir(up) != up; up = filepath.Dir(up) {
			if _, err := os.Lstat(filepath.Join(up, ".runner")); err == nil {
				roots = append(roots, up)
			}
		}
	}
	roots = append(roots, runnersBelow("/opt", "/usr/local", "/var/lib", "/var/cache")...) // agents can read these directories
	for _, path := range []string{at.home(), at.Temp, at.Workspace} {
		if path != "" && filepath.Dir(path) != path {
			roots = append(roots, path)
		}
	}
	return cage.ResolveAll(roots)
}

// devices are the devices that agents may write, if this machine has them.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// absolute returns the cleaned path if it is absolute, and "" otherwise.
func absolute(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

// isIn reports whether a path equals one of the directories or is below one.
func isIn(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool { return cage.IsWithin(path, dir) })
}

// Outermost resolves links in paths. It returns the existing paths, except paths below others. A program
// that may write a directory can replace the directory's content with links, so paths below it must not
// be resolved again.
func Outermost(paths []string) []string { return withoutInner(cage.ResolveAll(paths)) }

// withoutInner returns the paths that are not below another path in all.
func withoutInner(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return other != p && cage.IsWithin(p, other) })
	})
}

// linksIn returns the links in a directory that point to files, as /etc/resolv.conf does on many
// machines. Agents may read their targets.
func linksIn(dir string) (links []string) {
	entries, _ := os.ReadDir(dir) // an unreadable directory counts as empty
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			links = append(links, path)
		}
	}
	return links
}

// toolchains returns directories in a home directory that contain programs and no credentials.
func toolchains(home string) (paths []string) {
	if home == "" {
		return nil
	}
	for _, name := range strings.Fields(`
		.rustup .cargo/bin .nvm .pyenv .rbenv .sdkman .volta .bun .deno .dotnet/dotnet .dotnet/host .dotnet/shared .dotnet/sdk .dotnet/packs .dotnet/tools
		.local/bin .local/lib .local/share/uv/python .local/share/uv/tools .local/share/pipx .local/share/pnpm .local/share/mise .cache/ms-playwright go/bin`) {
		paths = append(paths, filepath.Join(home, filepath.FromSlash(name)))
	}
	return paths
}

// onPath returns the directories on PATH, the directories next to them that their programs need, and the
// runner's tool caches. It leaves out directories that k blocks.
func (at *Site) onPath(k hiddenPaths) (paths []string) {
	add := func(path string) {
		if path = absolute(path); path != "" && !k.blocks(path) {
			paths = append(paths, path)
		}
	}
	home := cage.Resolve(at.home())
	for _, dir := range filepath.SplitList(workspace.Getenv(at.Environ, "PATH")) {
		add(dir)
		above := cage.Resolve(filepath.Dir(dir))
		switch base := filepath.Base(dir); {
		case base == ".bin":
			add(above)
		case base == "bin" && above != home && above != filepath.Join(home, ".local"):
			for _, beside := range []string{"lib", "libexec", "share"} {
				add(filepath.Join(above, beside))
			}
		}
	}
	add(workspace.Getenv(at.Environ, "RUNNER_TOOL_CACHE"))
	add(workspace.Getenv(at.Environ, "AGENT_TOOLSDIRECTORY"))
	return paths
}

// hiddenPaths are paths that agents must not read, with links resolved. Paths inside of roots can be
// made readable by name; paths inside of always can't.
type hiddenPaths struct{ roots, always []string }

// blocks reports whether a path must not become readable: it is inside of always, or it contains a root.
func (k hiddenPaths) blocks(path string) bool {
	at := cage.Resolve(path)
	return isIn(at, k.always) || slices.ContainsFunc(k.roots, func(p string) bool { return at != "" && cage.IsWithin(p, at) })
}

// certificates are variables that name files or directories with certificates which programs trust.
var certificates = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}

// fromVariables returns paths in environment variables that agents may read. In a job, only variables
// that are meant for agents are set; their paths are used if they name files, such as the payload of the
// event, or directories in the job's temporary directory. Outside of a job, only certificates are used.
func (at *Site) fromVariables(k hiddenPaths) (paths []string) {
	temp := cage.Resolve(at.Temp)
	for _, kv := range at.Environ {
		name, v, _ := strings.Cut(kv, "=")
		isCertificate := slices.Contains(certificates, name)
		if at.Temp == "" && !isCertificate {
			continue
		}
		for _, path := range filepath.SplitList(v) {
			info, err := os.Stat(absolute(path))
			if err != nil || k.blocks(path) {
				continue
			}
			if info.Mode().IsRegular() || info.IsDir() && (isCertificate || cage.IsWithin(cage.Resolve(path), temp)) {
				paths = append(paths, filepath.Clean(path))
			}
		}
	}
	return paths
}

// maxFolders is the maximum number of directories that are searched for runners, outer directories
// before inner ones.
const maxFolders = 3_000

// runnersBelow returns the directories in or below folders that contain a file .runner.
func runnersBelow(folders ...string) (found []string) {
	for i := 0; i < min(len(folders), maxFolders); i++ {
		entries, _ := os.ReadDir(folders[i]) // agents can't read a directory that this user can't read
		for _, e := range entries {
			switch {
			case e.Name() == ".runner":
				found = append(found, folders[i])
			case e.IsDir():
				folders = append(folders, filepath.Join(folders[i], e.Name()))
			}
		}
	}
	return found
}

// makeOwn creates a temporary directory for a run in temp, or in the system's temporary directory if
// temp is empty. Its name is short, because the path of a socket in it can have at most 108 bytes.
func makeOwn(temp string) (string, error) {
	name := "r-*"
	if temp == "" {
		temp, name = os.TempDir(), "raymond-*"
	}
	own, err := os.MkdirTemp(temp, name)
	if err != nil {
		return "", err
	}
	return cmp.Or(cage.Resolve(own), own), nil
}

// home returns the real home directory. It returns "" if HOME is not set.
func (at *Site) home() string { return absolute(workspace.Getenv(at.Environ, "HOME")) }

// AgentHome returns the home directory that agents get instead of the real one.
func (at *Site) AgentHome() string { return filepath.Join(at.own, "home") }

// ExpandHome replaces a leading ~ with the real home directory.
func (at *Site) ExpandHome(path string) string {
	if home := at.home(); home != "" && (path == "~" || len(path) > 1 && path[:2] == "~/") {
		return filepath.Join(home, path[1:])
	}
	return path
}

// top returns the top directory of the worktree in which the run works. It returns "" if there is no
// worktree, or if the worktree contains the home directory.
func (at *Site) top() string {
	home := cage.Resolve(at.home())
	for dir := cage.Resolve(at.Dir); filepath.Dir(dir) != dir && !cage.IsWithin(home, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return ""
}

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

// files says which files agents at a site read and write. git's folders are those that they work with; shown is what
// they are shown of the home folder and beside it.
func (at *Site) files(git, shown []string, k keep) cage.Policy {
	writable := Outermost(slices.Concat([]string{cage.Resolve(at.Dir), at.own}, git, at.write, devices))
	readable := slices.Concat(cage.SystemPaths(), linksIn("/etc"), shown, at.fromVariables(k), []string{at.top(), filepath.Join(at.goModules(), "cache", "download")})
	return cage.Policy{Writable: writable, Readable: at.fixed(writable, readable), Hidden: k.kept}
}

// kept is what is nobody's, whatever lies around it: but for what is named below it.
func (at *Site) kept() []string {
	kept := slices.Concat(at.Hidden, at.runners())
	for _, path := range []string{at.home(), at.Temp, at.Workspace} {
		if path != "" && filepath.Dir(path) != path {
			kept = append(kept, path)
		}
	}
	return cage.ResolveAll(kept)
}

// devices may be written. Those that a machine lacks are left out.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// absolute is a path that is one, cleaned; "" for any other.
func absolute(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

// isIn reports whether a path is one of the folders, or lies in one.
func isIn(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool { return cage.IsWithin(path, dir) })
}

// Outermost are the paths that exist, without links and without those below others: who
// may write a folder may replace what is in it, and it must not be looked up again.
func Outermost(paths []string) []string { return withoutInner(cage.ResolveAll(paths)) }

// withoutInner leaves out the paths below others.
func withoutInner(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return other != p && cage.IsWithin(p, other) })
	})
}

// fixed are the paths without links, but for those that agents can lead elsewhere, or could when they were here before:
// what they can write can be read anyway.
func (at *Site) fixed(writable, paths []string) (found []string) {
	theirs := append(slices.Clone(writable), at.Dir, at.Workspace, cage.Resolve(at.Workspace))
	for _, path := range paths {
		target := cmp.Or(cage.Resolve(path), absolute(path)) // what is made later has its name already
		if target != "" && !isIn(target, writable) && (!isIn(path, theirs) || isIn(target, theirs)) {
			found = append(found, target)
		}
	}
	return found
}

// linksIn are the links in a folder that lead to files, as /etc/resolv.conf does on many machines: what they lead to is
// readable.
func linksIn(dir string) (links []string) {
	entries, _ := os.ReadDir(dir) // who can't list it has none
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

// toolchains are the programs in a home folder that hold no credentials.
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

// onPath are the folders of programs, with what these need beside them, and the tool caches. A folder in which
// something kept lies is none of them.
func (at *Site) onPath(k keep) (paths []string) {
	add := func(path string) {
		if path = absolute(path); path != "" && !k.holds(path) {
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

// keep is what is nobody's, without links: kept but for what is named below it, hidden whoever names it.
type keep struct{ kept, hidden []string }

// holds reports whether a path is hidden, or contains something kept.
func (k keep) holds(path string) bool {
	at := cage.Resolve(path)
	return isIn(at, k.hidden) || slices.ContainsFunc(k.kept, func(p string) bool { return at != "" && cage.IsWithin(p, at) })
}

// certificates are variables that name what programs trust.
var certificates = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}

// fromVariables is what variables name: in a job, whose variables are chosen for agents, each file, as the payload of the event,
// and each folder in the job's temporary folder; elsewhere certificates.
func (at *Site) fromVariables(k keep) (paths []string) {
	temp := cage.Resolve(at.Temp)
	for _, kv := range at.Environ {
		name, v, _ := strings.Cut(kv, "=")
		isCertificate := slices.Contains(certificates, name)
		if at.Temp == "" && !isCertificate {
			continue
		}
		for _, path := range filepath.SplitList(v) {
			info, err := os.Stat(absolute(path))
			if err != nil || k.holds(path) {
				continue
			}
			if info.Mode().IsRegular() || info.IsDir() && (isCertificate || cage.IsWithin(cage.Resolve(path), temp)) {
				paths = append(paths, filepath.Clean(path))
			}
		}
	}
	return paths
}

// runners are the folders of CI runners, with their keys, settings and logs: those that the job's folders lie in,
// and, whoever's, those among the files of the machine that agents read.
func (at *Site) runners() (found []string) {
	for _, dir := range []string{at.Temp, at.Workspace} {
		// What lies in the workspace may be an agent's.
		for up := filepath.Dir(cage.Resolve(dir)); filepath.Dir(up) != up; up = filepath.Dir(up) {
			if _, err := os.Lstat(filepath.Join(up, ".runner")); err == nil {
				found = append(found, up)
			}
		}
	}
	return append(found, runnersBelow("/opt", "/usr/local", "/var/lib", "/var/cache")...)
}

// maxFolders is how many folders are searched for those of runners, the outer ones first.
const maxFolders = 3_000

// runnersBelow are the folders of CI runners below others.
func runnersBelow(folders ...string) (found []string) {
	for i := 0; i < min(len(folders), maxFolders); i++ {
		entries, _ := os.ReadDir(folders[i]) // agents can't read a folder that this user can't read
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

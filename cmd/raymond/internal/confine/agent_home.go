package confine

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// makeHome creates the agents' home directory and, next to it, their temporary directory. The home
// directory contains links to the paths that are below the real home directory, and a
// .gitconfig with safe settings.
func (at *Site) makeHome(paths []string) error {
	root, err := os.OpenRoot(at.own)
	if err != nil {
		return err
	}
	defer root.Close()
	config := "[safe]\n\tdirectory = *\n" // let agents use repositories of other users, which is needed in containers
	if at.Temp != "" {                    // in a job: an author for commits, even if no step has set one
		config += "[user]\n\tname = github-actions[bot]\n\temail = 41898282+github-actions[bot]@users.noreply.github.com\n"
	}
	for _, path := range workspace.SettingsFiles(at.Environ) {
		data, _ := files.ReadTarget(path, maxConfig) // an unreadable file counts as empty
		config += safeConfig(string(data))
	}
	err = errors.Join(root.MkdirAll("home", 0o700), root.MkdirAll("tmp", 0o700), root.WriteFile("home/.gitconfig", []byte(config), 0o600))
	for _, rel := range at.below(paths) {
		to := filepath.Join("home", rel)
		err = errors.Join(err, root.MkdirAll(filepath.Dir(to), 0o700), root.Symlink(filepath.Join(at.home(), rel), to))
	}
	return err
}

// below returns the existing paths below the real home directory, relative to that directory. It leaves
// out paths below other returned paths, and the job's own directories.
func (at *Site) below(paths []string) (found []string) {
	for _, path := range paths {
		rel, err := filepath.Rel(at.home(), path)
		if _, missing := os.Stat(path); err != nil || missing != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		if !isIn(path, []string{at.Workspace, at.Temp, at.own}) {
			found = append(found, rel)
		}
	}
	slices.Sort(found)
	return withoutInner(slices.Compact(found))
}

// maxConfig is the maximum size of a git configuration file that is read, in bytes.
const maxConfig = 1 << 20

// lfsFilters are the settings that "git lfs install" writes: first without --skip-smudge, then with it.
var lfsFilters = [][]string{
	{"clean = git-lfs clean -- %f", "process = git-lfs filter-process", "required = true", "smudge = git-lfs smudge -- %f"},
	{"clean = git-lfs clean -- %f", "process = git-lfs filter-process --skip", "required = true", "smudge = git-lfs smudge --skip -- %f"},
}

// safeConfig returns the settings in a git configuration file that agents get too: the user's name and
// address, settings for comparing files, and the filters of git LFS. Other filters are left out, because
// filters are commands.
func safeConfig(text string) (config string) {
	var lfs []string
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Join(strings.Fields(strings.Trim(line, "[]")), ""))
		}
		key, value, isSetting := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		isUser := section == "user" && (key == "name" || key == "email") && !strings.HasSuffix(line, `\`)
		switch {
		case !isSetting:
		case section == `filter"lfs"`:
			lfs = append(lfs, key+" = "+value)
		case isUser, workspace.IsComparisonSetting(section+"."+key, value):
			config += "[" + section + "]\n\t" + line + "\n"
		}
	}
	slices.Sort(lfs)
	if slices.ContainsFunc(lfsFilters, func(known []string) bool { return slices.Equal(known, lfs) }) {
		config += "[filter \"lfs\"]\n\t" + strings.Join(lfs, "\n\t") + "\n"
	}
	return config
}

// dirVariables are variables that name directories which programs use instead of directories in the home
// directory. The values are the replacements, relative to the agents' home directory.
var dirVariables = map[string]string{
	"XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_RUNTIME_DIR": "../tmp",
	"GIT_CONFIG_GLOBAL": ".gitconfig", "npm_config_cache": ".npm", "NPM_CONFIG_CACHE": ".npm", "YARN_CACHE_FOLDER": ".cache/yarn", "BUN_INSTALL_CACHE_DIR": ".bun-cache",
	"GOPATH": "go", "GOMODCACHE": "go/pkg/mod", "GOCACHE": ".cache/go-build", "PIP_CACHE_DIR": ".cache/pip", "UV_CACHE_DIR": ".cache/uv", "CARGO_HOME": ".cargo",
	"NUGET_PACKAGES": ".nuget/packages", "DOTNET_CLI_HOME": ".", "COMPOSER_HOME": ".composer", "COMPOSER_CACHE_DIR": ".cache/composer",
}

// variables returns variables that make programs use the agents' home directory and caches in it. No
// later step of the job reads these caches, so agents can't poison later steps through them. A variable
// is not replaced if the user lets agents write its directory.
func (at *Site) variables() []string {
	in := func(name string) string { return filepath.Join(at.AgentHome(), filepath.FromSlash(name)) }
	env := []string{"HOME=" + at.AgentHome()}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		env = append(env, name+"="+filepath.Join(at.own, "tmp"))
	}
	for name, path := range dirVariables {
		if old := workspace.Getenv(at.Environ, name); old != "" && !at.isWritten(old) {
			env = append(env, name+"="+in(path))
		}
	}
	// Java programs ignore HOME, so these variables name the directories.
	if !at.isWritten(filepath.Join(at.home(), ".gradle")) {
		env = append(env, "GRADLE_USER_HOME="+in(".gradle"))
	}
	if !at.isWritten(filepath.Join(at.home(), ".m2")) {
		env = append(env, at.withFlag("MAVEN_ARGS", "-Dmaven.repo.local="+in(".m2/repository")))
	}
	slices.Sort(env)
	// The go command uses the user's module cache as its first module proxy, so that it downloads only modules that
	// are missing there. In a cage, it can't change the user's cache; it copies the modules to the agents' module cache
	// and verifies them. -modcacherw makes the agents' cache removable.
	modules := at.goModules()
	if at.isWritten(modules) {
		return env
	}
	env = append(env, at.withFlag("GOFLAGS", "-modcacherw"))
	download := filepath.Join(modules, "cache", "download")
	if info, err := os.Stat(download); modules == "" || err != nil || !info.IsDir() {
		return env
	}
	return append(env, "GOPROXY=file://"+filepath.ToSlash(download)+","+cmp.Or(workspace.Getenv(at.Environ, "GOPROXY"), "https://proxy.golang.org,direct"))
}

// withFlag returns a variable in the form NAME=value. The value is the current one with one more flag.
func (at *Site) withFlag(name, flag string) string {
	return name + "=" + strings.TrimSpace(workspace.Getenv(at.Environ, name)+" "+flag)
}

// isWritten reports whether path is among the paths that the user or an agent CLI's needs make writable.
func (at *Site) isWritten(p string) bool { return isIn(cage.Resolve(p), cage.ResolveAll(at.write)) }

// goModules returns the module cache that the go command uses outside of the cage. It returns "" if that
// is unknown.
func (at *Site) goModules() string {
	if dir := absolute(workspace.Getenv(at.Environ, "GOMODCACHE")); dir != "" {
		return dir
	}
	if list := filepath.SplitList(workspace.Getenv(at.Environ, "GOPATH")); len(list) > 0 {
		return filepath.Join(list[0], "pkg", "mod")
	}
	if at.home() == "" {
		return ""
	}
	return filepath.Join(at.home(), "go", "pkg", "mod")
}

// caches are directories of package managers, relative to the real home directory. An earlier step of
// the job may have restored them.
var caches = []string{
	".npm", ".yarn/berry", ".cache/yarn", ".cache/pip", ".cache/uv", ".cache/go-build", ".cache/pypoetry", ".local/share/pnpm/store", ".bun/install/cache",
	".cargo/registry", ".gradle/caches", ".m2/repository", ".nuget/packages", ".composer/cache",
}

// unusableCaches returns the caches that exist and that agents may not write, for a note to the user.
func (at *Site) unusableCaches() (names []string) {
	for _, name := range caches {
		path := filepath.Join(at.home(), filepath.FromSlash(name))
		entries, err := fs.ReadDir(os.DirFS(path), ".")
		if err == nil && len(entries) > 0 && at.home() != "" && !at.isWritten(path) {
			names = append(names, "~/"+name)
		}
	}
	return names
}

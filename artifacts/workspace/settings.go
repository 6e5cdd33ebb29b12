package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// safePath is where git looks for what it runs: beside itself, and in the folders of
// PATH that agents can't write to.
func safePath(program string, environ []string) string {
	folders := []string{filepath.Dir(program)}
	for _, dir := range filepath.SplitList(Getenv(environ, "PATH")) {
		if filepath.IsAbs(dir) && !canReplace(dir) {
			folders = append(folders, dir)
		}
	}
	if runtime.GOOS != "windows" {
		folders = append(folders, "/usr/bin", "/bin")
	}
	return strings.Join(folders, string(filepath.ListSeparator))
}

// SettingsFiles returns git's configuration files for an environment: the machine's, if its path is known, then the user's.
func SettingsFiles(environ []string) []string {
	all := []string{filepath.FromSlash("/etc/gitconfig")}
	home := homeOf(environ)
	if config := Getenv(environ, "XDG_CONFIG_HOME"); config != "" {
		all = append(all, filepath.Join(config, "git", "config"))
	} else if home != "" {
		all = append(all, filepath.Join(home, ".config", "git", "config"))
	}
	if home != "" {
		all = append(all, filepath.Join(home, ".gitconfig"))
	}
	return all
}

// harmless reports whether a variable changes neither what git works on nor what it
// runs.
func harmless(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	name = strings.ToUpper(name) // Windows has them in any case
	switch {
	case strings.HasPrefix(name, "GIT_SSL_"), name == "GIT_EXEC_PATH":
		return true
	case strings.HasPrefix(name, "GIT_"):
		return false
	}
	return !slices.Contains([]string{"LC_ALL", "LANGUAGE", "SSH_ASKPASS", "HOME", "XDG_CONFIG_HOME", "PATH"}, name)
}

// setting is one of git's, for one command.
type setting struct{ key, value string }

// quiet are the settings that keep git from running or reading what somebody else
// names.
func quiet() []setting {
	return []setting{
		{"core.excludesFile", os.DevNull}, {"core.attributesFile", os.DevNull}, {"pack.windowMemory", "256m"},
		{"pack.useSparse", "false"}, // sparse compares by path, and a save has other paths than the checkout
		{"safe.directory", "*"}, {"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"},
		{"credential.helper", ""}, {"core.askPass", ""}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"},
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"submodule.recurse", "false"},
		{"core.pager", "cat"}, {"protocol.ext.allow", "never"}, {"core.quotePath", "false"},
	}
}

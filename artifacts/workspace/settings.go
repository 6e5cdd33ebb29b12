package workspace

import (
	"path/filepath"
	"slices"
	"strings"
)

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

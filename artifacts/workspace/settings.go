package workspace

import (
	"path/filepath"
	"slices"
	"strings"
)

// SettingsFiles returns the paths of git's settings files: the system's, then the user's.
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

// isHarmless reports whether an environment variable affects neither the files that git works on nor the
// programs that git runs.
func isHarmless(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	name = strings.ToUpper(name) // on Windows names are case-insensitive
	switch {
	case strings.HasPrefix(name, "GIT_SSL_"), name == "GIT_EXEC_PATH":
		return true
	case strings.HasPrefix(name, "GIT_"):
		return false
	}
	return !slices.Contains([]string{"LC_ALL", "LANGUAGE", "SSH_ASKPASS", "HOME", "XDG_CONFIG_HOME", "PATH"}, name)
}

// setting is a git setting that applies to one git process.
type setting struct{ key, value string }

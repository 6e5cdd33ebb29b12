package program

import (
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// Variable returns the value of a variable in an environment. It returns "" if the variable is not set.
// If a name occurs twice, the last entry is used.
func Variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// WithoutVars returns a copy of an environment without the named variables.
func WithoutVars(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// HomeVar returns the name of the variable that contains the home directory.
func HomeVar() string {
	return WindowsOr("USERPROFILE", "HOME")
}

// Home returns the home directory in an environment. If the variable isn't set, it returns the home
// directory of the user who runs this process. It returns "" if that is unknown.
func Home(environ []string) string {
	if home := Variable(environ, HomeVar()); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// ConfigDir returns the directory that a variable contains. If the variable isn't set, it returns the
// directory with the given name in the home directory, or "" if the home directory is unknown.
func ConfigDir(environ []string, variable, name string) string {
	dir := Variable(environ, variable)
	if home := Home(environ); dir == "" && home != "" {
		return filepath.Join(home, name)
	}
	return dir
}

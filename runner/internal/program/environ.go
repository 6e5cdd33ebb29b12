package program

import (
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// Variable returns the value of a variable of an environment, "" for none. Of two entries with one
// name the later one counts.
func Variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// WithoutVars returns an environment without some variables.
func WithoutVars(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// HomeVar is the variable with the home folder.
func HomeVar() string {
	return WindowsOr("USERPROFILE", "HOME")
}

// Home returns the home folder of an environment, else that of the user of this process; "" when nobody knows it.
func Home(environ []string) string {
	if home := Variable(environ, HomeVar()); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// ConfigDir returns the folder that a variable names, else that of a name in the home folder; "" when nobody knows that.
func ConfigDir(environ []string, variable, name string) string {
	dir := Variable(environ, variable)
	if home := Home(environ); dir == "" && home != "" {
		return filepath.Join(home, name)
	}
	return dir
}

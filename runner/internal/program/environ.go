package program

import (
	"os/user"
	"path/filepath"
	"runtime"
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

// Without returns an environment without some variables.
func Without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// HomeVar is the variable with the home folder.
func HomeVar() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// Home returns the home folder of an environment, else that of the user of this process.
func Home(environ []string) (string, error) {
	if home := Variable(environ, HomeVar()); home != "" {
		return home, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	return u.HomeDir, nil
}

// Folder returns the folder that a variable names, else that of a name in the home folder.
func Folder(environ []string, variable, name string) (string, error) {
	if dir := Variable(environ, variable); dir != "" {
		return dir, nil
	}
	home, err := Home(environ)
	if err != nil {
		return "", err
	}
	return filepath.Join(home, name), nil
}

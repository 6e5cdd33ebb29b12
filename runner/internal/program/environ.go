package program

import (
	"os/user"
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

// Home returns the home folder of an environment, else that of the user of this process.
func Home(environ []string) (string, error) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := Variable(environ, name); home != "" {
		return home, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	return u.HomeDir, nil
}

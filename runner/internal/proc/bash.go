package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Bash returns the path of the shell that runs commands: /bin/bash or, on Windows, the bash of Git for
// Windows. It returns an error with instructions if there is no such shell.
func Bash() (string, error) {
	at, err := []string{"/bin/bash"}, errors.New("there is no /bin/bash on this machine: install it (apt-get install bash, apk add bash)")
	if runtime.GOOS == "windows" {
		err = errors.New("there is no bash of Git for Windows on this machine: install Git for Windows, and put its git on PATH")
		// The bash on PATH isn't used, because it may belong to WSL, which uses other paths for the same files.
		bash := filepath.Join("bin", "bash.exe")
		at = []string{filepath.Join(os.Getenv("ProgramFiles"), "Git", bash)}
		if git, missing := exec.LookPath("git"); missing == nil {
			bin := filepath.Dir(git) // the directory of git: cmd, bin or mingw64\bin
			at = append([]string{filepath.Join(bin, "..", bash), filepath.Join(bin, "..", "..", bash)}, at...)
		}
	}
	for _, path := range at {
		// Only an absolute path is accepted, so that no file of the checkout is used.
		if found, missing := exec.LookPath(path); missing == nil && filepath.IsAbs(found) {
			return found, nil
		}
	}
	return "", err
}

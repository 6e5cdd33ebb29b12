package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// The interpreters, by extension, and how to get them.
var candidates = map[string]struct {
	names []string
	hint  string
}{
	".sh":  {[]string{"/bin/bash"}, "it runs every .sh, whatever its first line names: install it (apt-get install bash, apk add bash)"},
	".bat": {[]string{"cmd.exe"}, "batch files run on Windows only"},
	".ps1": {[]string{"pwsh", "powershell"}, "install PowerShell from https://aka.ms/powershell"},
}

// interpreterOf returns how a script is started, by its extension.
func interpreterOf(script string) (proc.Options, *runner.Failure) {
	ext := strings.ToLower(filepath.Ext(script))
	kind, ok := candidates[ext]
	if !ok {
		return proc.Options{}, failf(runner.Fatal, "script %q: no interpreter for %q", filepath.Base(script), ext)
	}
	for _, name := range kind.names {
		if path, err := exec.LookPath(name); err == nil {
			return command(ext, path, script), nil
		}
	}
	return proc.Options{}, failf(runner.Machine, "%s not found; %s", strings.Join(kind.names, " and "), kind.hint)
}

func command(ext, path, script string) proc.Options {
	switch ext {
	case ".bat":
		// cmd.exe takes the outer quotes off and the rest as it stands, whatever
		// blanks, brackets or ampersands the path has.
		return proc.Options{
			Path: path, Args: []string{"/d", "/s", "/c", script},
			CommandLine: `"` + path + `" /d /s /c ""` + script + `""`,
		}
	case ".ps1":
		return proc.Options{Path: path, Args: []string{"-NoProfile", "-NonInteractive", "-File", script}}
	default:
		return proc.Options{Path: path, Args: []string{script}}
	}
}

// notStarted words why a script could not be started. A directory that is gone
// and an environment that is too large are the workflow's problem, the rest the
// machine's.
func notStarted(o runner.Order, err error) *runner.Failure {
	class := runner.Machine
	path, ok := errors.AsType[*fs.PathError](err)
	if ok && path.Path == o.Dir || errors.Is(err, syscall.E2BIG) {
		class = runner.Fatal
	}
	return failf(class, "start script %q: %v", filepath.Base(o.Script.Path), err)
}

func failf(class runner.Class, format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: class, Message: text.Escaped(fmt.Sprintf(format, args...))}
}

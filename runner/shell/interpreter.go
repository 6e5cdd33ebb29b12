package shell

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// interpreterOf returns how to start a script with the interpreter for its extension.
func interpreterOf(script string) (proc.Options, *runner.Failure) {
	var names []string
	var hint string
	how := proc.Options{Args: []string{script}}
	ext := strings.ToLower(filepath.Ext(script))
	switch ext {
	case ".sh":
		names, hint = []string{"/bin/bash"}, "it runs every .sh file, whatever its first line says: install it (apt-get install bash, apk add bash)"
	case ".bat":
		names, hint = []string{"cmd.exe"}, "batch files run on Windows only"
		how.Args = []string{"/d", "/s", "/c", script}
	case ".ps1":
		names, hint = []string{"pwsh", "powershell"}, "install PowerShell from https://aka.ms/powershell"
		how.Args = []string{"-NoProfile", "-NonInteractive", "-File", script}
	default:
		return how, failf(runner.Fatal, "script %q: no interpreter for %q", filepath.Base(script), ext)
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			how.Path = path
			if ext == ".bat" {
				// cmd.exe removes the outer quotes and takes everything between them literally, even
				// if the path contains spaces, brackets or ampersands.
				how.CommandLine = `"` + path + `" /d /s /c ""` + script + `""`
			}
			return how, nil
		}
	}
	return how, failf(runner.Machine, "%s not found; %s", strings.Join(names, " and "), hint)
}

// failf returns a failure with a formatted and escaped message.
func failf(class runner.Class, format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: class, Message: text.Escape(fmt.Sprintf(format, args...))}
}

package repotest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// commandLines returns the lines of the fenced blocks without a language or with
// the language sh that begin with one of the programs; a line that ends in a
// backslash is one with the next.
func commandLines(text string, programs ...string) []string {
	var lines []string
	for _, b := range blocks(text) {
		if b.file != "" || b.language != "" && b.language != "sh" {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", " ")) {
			line = strings.TrimSpace(line)
			for _, p := range programs {
				if strings.HasPrefix(line, p) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// TestCommandsInPagesParse: every command line of raymond that a page shows has a
// command and flags that there are. Those of README.md that need no agent are run
// by other tests, and so is all of docs/authoring.md.
func TestCommandsInPagesParse(t *testing.T) {
	t.Parallel()
	found := 0
	for _, page := range pages(t) {
		for _, line := range commandLines(readText(t, page), "raymond ", "go run ./cmd/raymond ") {
			line = strings.TrimPrefix(strings.TrimPrefix(line, "go run ./cmd/raymond "), "raymond ")
			line, _, _ = strings.Cut(line, "  ") // what follows explains
			args := shellWords(t, line)
			found++
			// With --help the program reads all flags, and then starts nothing.
			out, err := run(t, slices.Insert(args, 1, "--help")...)
			if err != nil || strings.Contains(out, "\n  raymond PATH [flags]\n") {
				t.Errorf("%s: raymond %s: got %v and\n%s\nwant a command and flags that there are", page, line, err, out)
			}
		}
	}
	if found < 15 {
		t.Errorf("commands in pages: got %d, want at least 15", found)
	}
}

// shellWords splits a command line as a shell does.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("bash", "-c", "set -f; printf '%s\\0' "+line).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// TestScriptsInPagesAreThere: a script that a page names can be started.
func TestScriptsInPagesAreThere(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, line := range commandLines(readText(t, page), ".ci/", "docs/") {
			name, _, _ := strings.Cut(line, " ")
			path := at(name)
			if info, err := os.Stat(path); err != nil || info.Mode()&0o100 == 0 {
				t.Errorf("%s: %s: got %v, want a file that can be started", page, line, err)
				continue
			}
			if out, err := exec.Command("bash", "-n", path).CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%s", page, line, err, out)
			}
		}
	}
}

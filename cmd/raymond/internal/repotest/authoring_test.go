package repotest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// authoringFolder has the files of docs/authoring.md.
func authoringFolder(t *testing.T) (folder, []block) {
	t.Helper()
	f := newFolder(t)
	page := blocks(readText(t, "docs/authoring.md"))
	for _, b := range page {
		if b.file != "" {
			f.write(t, b.file, b.text)
		}
	}
	return f, page
}

// TestAuthoringBlocksAreAllRun: a block of the page is a file or a command.
func TestAuthoringBlocksAreAllRun(t *testing.T) {
	t.Parallel()
	page := blocks(readText(t, "docs/authoring.md"))
	if got, want := strings.Count(readText(t, "docs/authoring.md"), "```"), 2*len(page); got != want || len(page) < 20 {
		t.Errorf("fences of docs/authoring.md: got %d of %d blocks, want %d of at least 20", got, len(page), want)
	}
	for _, b := range page {
		if (b.file == "") != (b.language == "console") {
			t.Errorf("docs/authoring.md: got a block %q with the file %q, want a file or a console", b.language, b.file)
		}
	}
}

// TestAuthoringWorkflowsLintAndSimulate checks each folder of the page, and runs
// each of its replies files.
func TestAuthoringWorkflowsLintAndSimulate(t *testing.T) {
	t.Parallel()
	f, page := authoringFolder(t)
	folders := map[string]int{}
	for _, b := range page {
		if b.file == "" || strings.HasPrefix(b.file, ".github/") { // a workflow file, which examplestest runs
			continue
		}
		folder, file := filepath.Split(b.file)
		if !strings.HasPrefix(file, "replies") {
			folders[folder] += 0
			continue
		}
		folders[folder]++
		command := fmt.Sprintf("raymond simulate %s --replies %s", folder, b.file)
		if first, _, _ := strings.Cut(b.text, "\n"); strings.HasPrefix(first, "# raymond ") {
			command = strings.TrimPrefix(first, "# ")
		}
		fails := file == "replies-wrong.yaml" || file == "replies-changes.yaml" // in consoles
		if out, err := f.shell(command); (err != nil) != fails {
			t.Errorf("%s: got %v and\n%s\nwant a failure: %t", command, err, out, fails)
		}
	}
	for folder, tests := range folders {
		if tests == 0 {
			t.Errorf("%s: got no replies file, want one", folder)
		}
		if out, err := f.shell("raymond lint --platform unix " + folder); err != nil || out != "no problems\n" {
			t.Errorf("lint of %s: got %v and\n%s\nwant no problems", folder, err, out)
		}
	}
}

// TestAuthoringCommandsPrintWhatThePageShows runs the consoles of the page, in order.
func TestAuthoringCommandsPrintWhatThePageShows(t *testing.T) {
	t.Parallel()
	f, page := authoringFolder(t)
	for _, b := range page {
		if b.language == "console" {
			f.follow(t, b)
		}
	}
}

// follow runs the commands of a console, and compares what they print. A … stands for anything in
// a line, and alone for any lines. It returns how many there were.
func (f folder) follow(t *testing.T, b block) int {
	t.Helper()
	commands := strings.Split("\n"+b.text, "\n$ ")[1:]
	for _, part := range commands {
		line, want, _ := strings.Cut(strings.TrimSuffix(part, "\n"), "\n")
		got, err := f.shell(line)
		if err != nil {
			got += strings.Replace(err.Error(), "exit status ", "[exit code ", 1) + "]\n"
		}
		if !regexp.MustCompile(pattern(want)).MatchString(strings.TrimSuffix(got, "\n")) {
			t.Errorf("$ %s\ngot:\n%s\nwant:\n%s", line, got, want)
		}
	}
	return len(commands)
}

func pattern(shown string) string {
	p := regexp.QuoteMeta(shown)
	p = regexp.MustCompile(`(?m)^…$\n?`).ReplaceAllString(p, `(?:.*\n)*?.*`)
	return `^` + strings.ReplaceAll(p, "…", ".*") + `$`
}

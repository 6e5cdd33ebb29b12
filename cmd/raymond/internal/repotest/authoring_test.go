package repotest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// authoringFolder returns a folder with the files that docs/authoring.md shows, and the page's other code blocks.
func authoringFolder(t *testing.T) (folder, []block) {
	t.Helper()
	f := newFolder(t)
	page := blocks(readText(t, "docs/authoring.md"))
	for _, b := range page {
		assert.Check(t, is.Equal(b.file == "", b.language == "console"), "docs/authoring.md: got a block %q with the file %q, want a file or a console", b.language, b.file)
		if b.file != "" {
			f.write(t, b.file, b.text)
		}
	}
	return f, page
}

// TestAuthoringWorkflowsLintAndSimulate lints each workflow of docs/authoring.md and simulates it with each of its
// replies files.
func TestAuthoringWorkflowsLintAndSimulate(t *testing.T) {
	t.Parallel()
	f, page := authoringFolder(t)
	folders := map[string]int{}
	for _, b := range page {
		if b.file == "" {
			continue
		}
		folder, file := filepath.Split(b.file)
		if !strings.HasPrefix(file, "replies") {
			folders[folder] += 0
			continue
		}
		folders[folder]++
		command := fmt.Sprintf("raymond simulate %s --replies %s", folder, b.file)
		fails := file == "replies-wrong.yaml" // a console example on the page shows this failure
		out, err := f.shell(command)
		assert.Check(t, is.Equal((err != nil), fails), "%s: got %v and\n%s\nwant a failure: %t", command, err, out, fails)
	}
	for folder, tests := range folders {
		assert.Check(t, tests != 0, "%s: got no replies file, want one", folder)
		if out, err := f.shell("raymond lint --platform unix " + folder); err != nil || out != "no problems\n" {
			t.Errorf("lint of %s: got %v and\n%s\nwant no problems", folder, err, out)
		}
	}
}

// TestAuthoringCommandsPrintWhatThePageShows runs the console examples of the page in order.
func TestAuthoringCommandsPrintWhatThePageShows(t *testing.T) {
	t.Parallel()
	f, page := authoringFolder(t)
	for _, b := range page {
		if b.language == "console" {
			f.follow(t, b)
		}
	}
}

// follow runs the commands of a console example and compares their output with the page. On the page, a … within a
// line matches any text, and a line that contains only … matches any number of lines.
func (f folder) follow(t *testing.T, b block) {
	t.Helper()
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		line, want, _ := strings.Cut(strings.TrimSuffix(part, "\n"), "\n")
		got, err := f.shell(line)
		if err != nil {
			got += strings.Replace(err.Error(), "exit status ", "[exit code ", 1) + "]\n"
		}
		assert.Check(t, regexp.MustCompile(`^`+pattern(want)+`$`).MatchString(strings.TrimSuffix(got, "\n")), "$ %s\ngot:\n%s\nwant:\n%s", line, got, want)
	}
}

var anyLines = regexp.MustCompile(`(?m)^…$\n?`)

// pattern returns a regular expression that matches the shown output. A … in it matches any text.
func pattern(shown string) string {
	return strings.ReplaceAll(anyLines.ReplaceAllString(regexp.QuoteMeta(shown), `(?:.*\n)*?.*`), "…", ".*")
}

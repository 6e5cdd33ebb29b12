package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a document.
type block struct{ language, file, text string }

func blocks(text string) []block {
	var found []block
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]*)(?: file=(\\S+))?\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		found = append(found, block{m[1], m[2], m[3]})
	}
	return found
}

// authoringSite is a site in whose working folder the files of docs/authoring.md
// are.
func authoringSite(t *testing.T) (*site, []block) {
	t.Helper()
	s := newSite(t, "")
	s.Env = append(s.Env, "PATH="+filepath.Dir(s.Bin)+string(filepath.ListSeparator)+s.path(), "RAYMOND_CLAUDE=/nonexistent", "HOME="+t.TempDir())
	page := blocks(readText(t, "docs/authoring.md"))
	for _, b := range page {
		if b.file != "" {
			s.Write(s.File(b.file), b.text)
		}
	}
	return s, page
}

// path is the PATH of the site.
func (s *site) path() string {
	for _, kv := range s.Env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			return v
		}
	}
	return ""
}

// TestAuthoringBlocksAreAllRun: a block of the page is a file or a command.
func TestAuthoringBlocksAreAllRun(t *testing.T) {
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
	s, page := authoringSite(t)
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
		if out, err := s.shell(command); (err != nil) != fails {
			t.Errorf("%s: got %v and\n%s\nwant a failure: %t", command, err, out, fails)
		}
	}
	for folder, tests := range folders {
		if tests == 0 {
			t.Errorf("%s: got no replies file, want one", folder)
		}
		if out, err := s.shell("raymond lint --platform unix " + folder); err != nil || out != "no problems\n" {
			t.Errorf("lint of %s: got %v and\n%s\nwant no problems", folder, err, out)
		}
	}
}

// shell runs a command line in the working folder and returns all it prints.
func (s *site) shell(line string) (string, error) {
	cmd := exec.Command("/bin/bash", "-c", line)
	cmd.Dir, cmd.Env = s.Work, s.Env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestAuthoringCommandsPrintWhatThePageShows runs the consoles of the page, in
// order. A … stands for anything in a line, and alone for any lines.
func TestAuthoringCommandsPrintWhatThePageShows(t *testing.T) {
	s, page := authoringSite(t)
	page = slices.DeleteFunc(page, func(b block) bool { return b.language != "console" })
	for _, b := range page {
		for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
			line, want, _ := strings.Cut(strings.TrimSuffix(part, "\n"), "\n")
			got, err := s.shell(line)
			if err != nil {
				got += strings.Replace(err.Error(), "exit status ", "[exit code ", 1) + "]\n"
			}
			if !regexp.MustCompile(pattern(want)).MatchString(strings.TrimSuffix(got, "\n")) {
				t.Errorf("$ %s\ngot:\n%s\nwant:\n%s", line, got, want)
			}
		}
	}
}

func pattern(shown string) string {
	p := regexp.QuoteMeta(shown)
	p = regexp.MustCompile(`(?m)^…$\n?`).ReplaceAllString(p, `(?:.*\n)*?.*`)
	return `^` + strings.ReplaceAll(p, "…", ".*") + `$`
}

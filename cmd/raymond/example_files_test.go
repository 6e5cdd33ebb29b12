package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

// exampleFolders returns the names of the folders in examples.
func exampleFolders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if len(names) < 4 {
		t.Fatalf("folders in examples: got %q, want at least 4", names)
	}
	return names
}

// exampleSite is a site in whose working folder the examples are, so that the
// commands of their documents work.
func exampleSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t, "")
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, s.File("examples")); err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.Env, "PATH="+filepath.Dir(s.Bin)+string(filepath.ListSeparator)+os.Getenv("PATH"), "RAYMOND_CLAUDE=/nonexistent")
	return s
}

func TestExamplesDraw(t *testing.T) {
	s := exampleSite(t)
	for _, name := range exampleFolders(t) {
		drawing := s.Raymond(0, "diagram", "examples/"+name).Stdout
		files, err := filepath.Glob("../../examples/" + name + "/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			file := filepath.Base(f)
			isState := file == strings.ToUpper(strings.TrimSuffix(file, filepath.Ext(file)))+filepath.Ext(file) && file != "README.md" && file != "PROMPT.md"
			if drawn := strings.Contains(drawing, file); drawn != isState {
				t.Errorf("diagram of examples/%s: got\n%s\nwant %s in it: %t", name, drawing, file, isState)
			}
		}
	}
}

// TestExamplesSimulate runs the command that stands at the head of each replies
// file of the examples. It must come out as the file expects, use all replies
// and leave nothing behind.
func TestExamplesSimulate(t *testing.T) {
	for _, name := range exampleFolders(t) {
		found, err := filepath.Glob("../../examples/" + name + "/replies*.yaml")
		if err != nil || len(found) == 0 || filepath.Base(found[len(found)-1]) != "replies.yaml" {
			t.Errorf("examples/%s: got the replies files %q (%v), want replies.yaml among them", name, found, err)
		}
		for _, path := range found {
			t.Run(name+"/"+filepath.Base(path), func(t *testing.T) { simulateExample(t, name, path) })
		}
	}
}

func simulateExample(t *testing.T, name, path string) {
	s := exampleSite(t)
	first := textLines(t, path)[0]
	command, ok := strings.CutPrefix(first, "# raymond simulate examples/"+name)
	if !ok || !strings.Contains(command, "--replies examples/"+name+"/"+filepath.Base(path)) {
		t.Fatalf("%s: got the first line %q, want the command that simulates it", path, first)
	}
	temp := t.TempDir()
	cmd := exec.Command("/bin/bash", "-c", strings.TrimPrefix(first, "# "))
	cmd.Dir, cmd.Env = s.Work, append(s.Env, "TMPDIR="+temp)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") {
		t.Errorf("%s: got %v and\n%s\nwant no error and no warning", first, err, out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%s: got %v (%v) in the temporary folder, want nothing", first, left, err)
	}
	if left, err := os.ReadDir(s.Work); err != nil || len(left) != 1 {
		t.Errorf("%s: got %v (%v) in the working folder, want the examples only", first, left, err)
	}
}

// TestReadmeCommandsWork runs the commands of README.md and of the examples' pages
// that need no agent.
func TestReadmeCommandsWork(t *testing.T) {
	s := exampleSite(t)
	ran := map[string]int{}
	for _, page := range pages(t) {
		for _, line := range commandLines(readText(t, page), "raymond lint examples", "raymond simulate examples") {
			ran[page]++
			if out, err := s.shell(line); err != nil {
				t.Errorf("%s: %s\ngot %v and\n%s\nwant no error", page, line, err, out)
			}
		}
	}
	if ran["README.md"] < 2 || len(ran) < 6 {
		t.Errorf("commands of pages: got %v, want at least 2 of README.md, and some of 5 others", ran)
	}
}

// TestExamplesAreInTheReadme: each folder is named where people look for one.
func TestExamplesAreInTheReadme(t *testing.T) {
	for _, name := range exampleFolders(t) {
		if !strings.Contains(readText(t, "README.md"), "examples/"+name) {
			t.Errorf("README.md: got no word of examples/%s, want one", name)
		}
		if !strings.HasPrefix(readText(t, "examples/"+name+"/README.md"), "# "+name+"\n") {
			t.Errorf("examples/%s/README.md: want it to begin with the name", name)
		}
	}
}

func writeFile(name, content string) claudetest.Reply {
	return claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": name, "content": content}))
}

// readFile comes before a second version: the CLI asks for that.
func readFile(name string) claudetest.Reply {
	return claudetest.Do(claudetest.ToolUse("Read", map[string]any{"file_path": name}))
}

const rightSlug = "tr 'A-Z' 'a-z' <<<\"$1\" | sed 's/[^a-z0-9]\\{1,\\}/-/g; s/^-//; s/-$//'\n"

// TestExampleRalphWithTheRealCLI has an agent that is wrong at first and says
// that it is done; the second attempt is told what failed.
func TestExampleRalphWithTheRealCLI(t *testing.T) {
	api := claudetest.NewServer(t,
		claudetest.On("This is attempt 1 of 4", writeFile("slug.sh", "echo hello-world\n"), claudetest.Say("Done.")),
		claudetest.On("This is attempt 2 of 4", readFile("slug.sh"), writeFile("slug.sh", rightSlug), claudetest.Say("tr and sed do it.")),
	)
	s := newRealSite(t, "", api)
	s.play("ralph")
	s.Write(s.File("slug_test.sh"), readText(t, "examples/ralph/project/slug_test.sh"))
	s.Env = append(s.Env, "TEST_COMMAND=bash slug_test.sh")
	wantPath(s, s.Run(0, "--input", "Write slug.sh"), "ralph")
	if got, want := s.Saved().Progress.Flakes, 1; got != want {
		t.Errorf("flakes: got %d, want %d", got, want)
	}
	if seen := api.Requests()[len(api.Requests())-1].Conversation(); !strings.Contains(seen, "got 'hello-world', want 'two-words'") {
		t.Errorf("second attempt: got\n%s\nwant the output of the test in it", seen)
	}
}

func TestExampleReviewLoopWithTheRealCLI(t *testing.T) {
	const finding = `no "example" & no <end>`
	api := claudetest.NewServer(t,
		claudetest.On("Write a text into TEXT.md", writeFile("TEXT.md", "first\n"), claudetest.Say("Written.")),
		claudetest.Rule{Match: "You review TEXT.md", Sequence: []claudetest.Reply{
			claudetest.Say("<result>" + finding + "</result>"), claudetest.Say("<result>APPROVED</result>"),
		}},
		claudetest.On("The reviewer of TEXT.md says:\n\n"+finding,
			readFile("TEXT.md"), writeFile("TEXT.md", "second\n"), claudetest.Say("Revised.")),
	)
	s := newRealSite(t, "", api)
	s.play("review-loop")
	s.Env = append(s.Env, "TMPDIR="+t.TempDir())
	wantPath(s, s.Run(0, "--input", "Explain locks"), "review-loop")
	if got, err := os.ReadFile(s.File("TEXT.md")); err != nil || string(got) != "second\n" {
		t.Errorf("TEXT.md: got %q (%v), want the second version", got, err)
	}
	for _, q := range api.Requests() {
		if seen := q.Conversation(); strings.Contains(q.Prompt, "You review") && strings.Contains(seen, "Written.") {
			t.Errorf("reviewer: got\n%s\nwant nothing of the author's conversation", seen)
		}
	}
}

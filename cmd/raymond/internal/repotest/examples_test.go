package repotest

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
)

// exampleNames returns the names of the folders in examples.
func exampleNames(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(at("examples"))
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

// exampleFolder has the examples in it, so that the commands of their pages work.
func exampleFolder(t *testing.T) folder {
	t.Helper()
	f := newFolder(t)
	examples, err := filepath.Abs(at("examples"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(f.dir, "examples")); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestExamplesLintClean holds that nothing can be said against an example, given
// the metadata that its page tells of.
func TestExamplesLintClean(t *testing.T) {
	t.Parallel()
	for _, name := range exampleNames(t) {
		folder := at("examples/" + name)
		o := protocol.LintOptions{LoadOptions: protocol.LoadOptions{Platform: protocol.Unix}}
		for _, f := range protocol.Lint(os.DirFS(folder), o) {
			t.Errorf("%s: got %s %v, want nothing", folder, f.Severity, f.Problem)
		}
	}
}

// TestWorkflowFilesOfExamplesFit: their jobs run the states of the example, and find each
// other's run.
func TestWorkflowFilesOfExamplesFit(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, "examples/*/workflow.yml") {
		if got := ask(t, "lint", "--workflow-file", at(file)); got != "no problems\n" {
			t.Errorf("%s: got\n%s\nwant nothing to say", file, got)
		}
	}
}

func TestExamplesDraw(t *testing.T) {
	t.Parallel()
	for _, name := range exampleNames(t) {
		drawing := ask(t, "diagram", at("examples/"+name))
		for _, f := range glob(t, "examples/"+name+"/*") {
			file := path.Base(f)
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
	t.Parallel()
	for _, name := range exampleNames(t) {
		found := glob(t, "examples/"+name+"/replies*.yaml")
		if path.Base(found[len(found)-1]) != "replies.yaml" {
			t.Errorf("examples/%s: got the replies files %q, want replies.yaml among them", name, found)
		}
		for _, file := range found {
			t.Run(file, func(t *testing.T) { simulateExample(t, name, file) })
		}
	}
}

func simulateExample(t *testing.T, name, file string) {
	f := exampleFolder(t)
	first := textLines(t, file)[0]
	command, ok := strings.CutPrefix(first, "# raymond simulate examples/"+name)
	if !ok || !strings.Contains(command, "--replies "+file) {
		t.Fatalf("%s: got the first line %q, want the command that simulates it", file, first)
	}
	temp := t.TempDir()
	f.env = append(f.env, "TMPDIR="+temp)
	out, err := f.shell(strings.TrimPrefix(first, "# "))
	if err != nil || strings.Contains(out, "warning") {
		t.Errorf("%s: got %v and\n%s\nwant no error and no warning", first, err, out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%s: got %v (%v) in the temporary folder, want nothing", first, left, err)
	}
	if left, err := os.ReadDir(f.dir); err != nil || len(left) != 1 {
		t.Errorf("%s: got %v (%v) in the working folder, want the examples only", first, left, err)
	}
}

// TestReadmeCommandsWork runs the commands of README.md and of the examples' pages
// that need no agent.
func TestReadmeCommandsWork(t *testing.T) {
	t.Parallel()
	f := exampleFolder(t)
	ran := map[string]int{}
	for _, page := range pages(t) {
		for _, line := range commandLines(readText(t, page), "raymond lint examples", "raymond simulate examples") {
			ran[page]++
			if out, err := f.shell(line); err != nil {
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
	t.Parallel()
	for _, name := range exampleNames(t) {
		if !strings.Contains(readText(t, "README.md"), "examples/"+name) {
			t.Errorf("README.md: got no word of examples/%s, want one", name)
		}
		if !strings.HasPrefix(readText(t, "examples/"+name+"/README.md"), "# "+name+"\n") {
			t.Errorf("examples/%s/README.md: want it to begin with the name", name)
		}
	}
}

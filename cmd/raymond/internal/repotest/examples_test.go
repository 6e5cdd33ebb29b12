package repotest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/lint"
)

// TestExamplesLintClean checks that lint reports nothing for the examples and their workflow files.
func TestExamplesLintClean(t *testing.T) {
	t.Parallel()
	for _, page := range glob(t, "examples/*/README.md") {
		folder := at(strings.TrimSuffix(page, "/README.md"))
		o := lint.Options{LoadOptions: protocol.LoadOptions{Platform: protocol.Unix}}
		for _, f := range lint.Workflow(os.DirFS(folder), o) {
			t.Errorf("%s: got %s %v, want nothing", folder, f.Severity, f.Problem)
		}
	}
	for _, file := range glob(t, "examples/*/workflow.yml") {
		assert.Check(t, is.Equal(output(t, "lint", "--workflow-file", at(file)), "no problems\n"), "%s: want nothing to say", file)
	}
}

// TestExamplesSimulate runs the command in the first line of each replies file of the examples. The run must end as the
// file expects, use all replies and leave no files behind. README.md shows one of these runs, with … for omitted lines.
func TestExamplesSimulate(t *testing.T) {
	t.Parallel()
	f, temp := newFolder(t), t.TempDir()
	f.env = append(f.env, "TMPDIR="+temp)
	examples, err := filepath.Abs(at("examples"))
	assert.NilError(t, err)
	assert.NilError(t, os.Symlink(examples, filepath.Join(f.dir, "examples")))
	shown := regexp.MustCompile("(?ms)^```\n(main .*?)^```$").FindStringSubmatch(readText(t, "README.md"))
	assert.Assert(t, shown != nil, "README.md: got no block that begins with a line of main, want one")
	for _, file := range glob(t, "examples/*/replies*.yaml") {
		first, _, _ := strings.Cut(readText(t, file), "\n")
		command, ok := strings.CutPrefix(first, "# raymond simulate "+filepath.Dir(file))
		assert.Assert(t, ok && strings.Contains(command, "--replies "+file), "%s: got the first line %q, want the command that simulates it", file, first)
		out, err := f.shell(strings.TrimPrefix(first, "# "))
		assert.Check(t, err, first)
		assert.Check(t, !strings.Contains(out, "warning"), "%s: got %v and\n%s\nwant no error and no warning", first, err, out)
		if file == "examples/review-loop/replies.yaml" && !regexp.MustCompile(pattern(shown[1])).MatchString(out) {
			t.Errorf("README.md shows the run\n%s\ngot\n%s", shown[1], out)
		}
	}
	for _, dir := range []string{temp, f.dir} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 1 || dir == temp && len(left) > 0 {
			t.Errorf("left in %s: got %v (%v), want nothing", dir, left, err)
		}
	}
}

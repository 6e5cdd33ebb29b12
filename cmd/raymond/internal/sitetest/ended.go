package sitetest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// RunnerFiles are the variables by which a runner names the files that a step writes to.
var RunnerFiles = []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_ARTIFACTS"}

// Ended is what a step of a job has left behind.
type Ended struct {
	Outcome  // its stdout is without the colours of the log
	Outputs  map[string]string
	Commands []RunnerCommand // that the runner carries out
	Lines    []string        // of the log that are no commands
	Summary  string
}

// logColours are the sequences by which the job log has colours.
var logColours = regexp.MustCompile("\x1b\\[(0|3[23]|90|1;3[123])m")

// End reads what a step has left behind in the files that its variables name.
func End(t testing.TB, o Outcome, file func(variable string) string) Ended {
	t.Helper()
	e := Ended{Outcome: o, Outputs: ReadOutputs(t, Read(t, file("GITHUB_OUTPUT"))), Summary: Read(t, file("GITHUB_STEP_SUMMARY"))}
	e.Stdout = logColours.ReplaceAllString(e.Stdout, "")
	var runner Runner
	runner.Read(e.Stdout)
	e.Commands, e.Lines = runner.Ran, runner.Shown
	return e
}

// Read reads a file that has to be there.
func Read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	assert.NilError(t, err)
	return string(data)
}

// Unmasked is the log without the values that it masks.
func (e Ended) Unmasked() string {
	var b strings.Builder
	for line := range strings.Lines(e.Stdout) {
		if !strings.HasPrefix(line, "::add-mask::") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// String shows in a failure what a step has said, without the values it masks.
func (e Ended) String() string {
	o := e.Outcome
	o.Stdout = e.Unmasked()
	return o.String()
}

// Texts are what the annotations of a level say, with their titles.
func (e Ended) Texts(level string) []string {
	var texts []string
	for _, c := range e.Commands {
		if c.Name == level {
			texts = append(texts, c.Properties["title"]+": "+c.Data)
		}
	}
	return texts
}

// Says reports whether an annotation of a level has all of some texts.
func (e Ended) Says(level string, parts ...string) bool {
	return slices.ContainsFunc(e.Texts(level), func(text string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	})
}

// WantOutputs checks some of the outputs.
func (e Ended) WantOutputs(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := e.Outputs[pairs[i]]; got != pairs[i+1] {
			t.Errorf("output %s: got %q, want %q\n%v", pairs[i], got, pairs[i+1], e)
		}
	}
}

// WantSays checks that an annotation of a level has all of some texts.
func (e Ended) WantSays(t testing.TB, level string, parts ...string) {
	t.Helper()
	if !e.Says(level, parts...) {
		t.Errorf("annotations of level %s: got %q, want one with %q\n%v", level, e.Texts(level), parts, e)
	}
}

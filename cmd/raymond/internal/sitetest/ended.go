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

// RunnerFiles are the variables in which a runner passes the paths of a step's command files.
var RunnerFiles = []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_ARTIFACTS"}

// StepEnd is everything a runner sees of a step that has ended: its output and its command files.
type StepEnd struct {
	Outcome  // its Stdout has no colours
	Outputs  map[string]string
	Commands []RunnerCommand // the workflow commands in the log
	Lines    []string        // the lines of the log, without workflow commands
	Summary  string
}

// logColours matches the escape sequences with which the job log is coloured.
var logColours = regexp.MustCompile("\x1b\\[(0|3[23]|90|1;3[123])m")

// ReadStepEnd parses the log and reads the command files of a step that has ended. file returns the path
// of the command file that a variable names.
func ReadStepEnd(t testing.TB, o Outcome, file func(variable string) string) StepEnd {
	t.Helper()
	e := StepEnd{Outcome: o, Outputs: ReadOutputs(t, Read(t, file("GITHUB_OUTPUT"))), Summary: Read(t, file("GITHUB_STEP_SUMMARY"))}
	e.Stdout = logColours.ReplaceAllString(e.Stdout, "")
	var runner Runner
	runner.Read(e.Stdout)
	e.Commands, e.Lines = runner.Ran, runner.Shown
	return e
}

// Read returns the content of a file. The test fails if the file doesn't exist.
func Read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	assert.NilError(t, err)
	return string(data)
}

// Unmasked returns the log without the ::add-mask:: commands, which contain the masked values.
func (e StepEnd) Unmasked() string {
	var b strings.Builder
	for line := range strings.Lines(e.Stdout) {
		if !strings.HasPrefix(line, "::add-mask::") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// String formats the output of the step for a failure message, without masked values.
func (e StepEnd) String() string {
	o := e.Outcome
	o.Stdout = e.Unmasked()
	return o.String()
}

// Annotations returns the annotations of a level such as "error", each with its title.
func (e StepEnd) Annotations(level string) []string {
	var texts []string
	for _, c := range e.Commands {
		if c.Name == level {
			texts = append(texts, c.Properties["title"]+": "+c.Data)
		}
	}
	return texts
}

// HasAnnotation reports whether one annotation of a level contains all the given texts.
func (e StepEnd) HasAnnotation(level string, parts ...string) bool {
	return slices.ContainsFunc(e.Annotations(level), func(text string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	})
}

// WantOutputs checks outputs of the step, given as names and values in turn.
func (e StepEnd) WantOutputs(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := e.Outputs[pairs[i]]; got != pairs[i+1] {
			t.Errorf("output %s: got %q, want %q\n%v", pairs[i], got, pairs[i+1], e)
		}
	}
}

// WantAnnotation checks that one annotation of a level contains all the given texts.
func (e StepEnd) WantAnnotation(t testing.TB, level string, parts ...string) {
	t.Helper()
	if !e.HasAnnotation(level, parts...) {
		t.Errorf("annotations of level %s: got %q, want one with %q\n%v", level, e.Annotations(level), parts, e)
	}
}

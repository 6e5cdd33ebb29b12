//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job/jobtest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// ended is what a step has left behind.
type ended struct {
	sitetest.Outcome        // its stdout is without the colours of the log
	painted          string // with them
	outputs          map[string]string
	commands         []jobtest.Command // that the runner carries out
	lines            []string          // of the log that are no commands
	summary          string
}

// logColours are the sequences by which the job log has colours.
var logColours = regexp.MustCompile("\x1b\\[(0|3[23]|90|1;3[123])m")

// do runs the step's main part, which must end with the given code, and then the
// workflow run is over.
func (j *bareJob) do(code int) ended {
	j.t.Helper()
	e := j.end(j.start())
	if e.Code != code {
		j.t.Fatalf("step of workflow run %d, inputs %q: got %v\nwant exit code %d", j.run, j.inputs, e, code)
	}
	return e
}

func (j *bareJob) end(c *sitetest.Command) ended {
	j.t.Helper()
	e := ended{Outcome: c.Wait(), outputs: map[string]string{}}
	e.painted, e.Stdout = e.Stdout, logColours.ReplaceAllString(e.Stdout, "")
	var runner jobtest.Runner
	runner.Read(e.Stdout)
	e.commands, e.lines = runner.Ran, runner.Shown
	for name, value := range jobtest.ReadOutputs(j.t, j.read(j.commandFile("GITHUB_OUTPUT"))) {
		e.outputs[name] = value
	}
	e.summary = j.read(j.commandFile("GITHUB_STEP_SUMMARY"))
	if left := j.site.Processes(); len(left) > 0 {
		j.t.Errorf("processes after the step: got %v, want none", sitetest.Describe(left))
	}
	if j.forge != nil {
		j.forge.ChangeRun(j.run, func(run *artifactstest.Run) { run.Status = "completed" })
	}
	return e
}

func (j *bareJob) read(path string) string {
	j.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		j.t.Fatal(err)
	}
	return string(data)
}

// stateFiles are the files below the step's own folder.
func (j *bareJob) stateFiles() []string {
	var files []string
	_ = filepath.WalkDir(filepath.Join(j.temp, "raymond"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 { // the log of seals is there before it has any
			files = append(files, path)
		}
		return nil // a folder that isn't there has none
	})
	return files
}

// String shows in a failure what a step has said, without the values it masks.
func (e ended) String() string {
	o := e.Outcome
	o.Stdout = withoutMasks(e)
	return o.String()
}

// texts are what the annotations of a level say, with their titles.
func (e ended) texts(level string) []string {
	var texts []string
	for _, c := range e.commands {
		if c.Name == level {
			texts = append(texts, c.Properties["title"]+": "+c.Data)
		}
	}
	return texts
}

// says reports whether an annotation of a level has all of some texts.
func (e ended) says(level string, parts ...string) bool {
	return slices.ContainsFunc(e.texts(level), func(text string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	})
}

// wantOutputs checks some of the outputs.
func (e ended) wantOutputs(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := e.outputs[pairs[i]]; got != pairs[i+1] {
			t.Errorf("output %s: got %q, want %q\n%v", pairs[i], got, pairs[i+1], e)
		}
	}
}

// wantSays checks that an annotation of a level has all of some texts.
func (e ended) wantSays(t testing.TB, level string, parts ...string) {
	t.Helper()
	if !e.says(level, parts...) {
		t.Errorf("annotations of level %s: got %q, want one with %q\n%v", level, e.texts(level), parts, e)
	}
}

//go:build linux && world

package acttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Result is what happened in a workflow run.
type Result struct {
	Steps []*Step // in the order in which they began
	act   string  // what act itself says
}

// Step is one stage of a step of a job: its main part, or what runs after all
// steps.
type Step struct {
	Job, ID string // the ids in the workflow file; without one the step's number
	Stage   string // "Pre", "Main" or "Post"
	Result  string // "success" or "failure"; "" until it ends
	Outputs map[string]string

	log []string // lines, the commands among them as they were written
}

// WantStep checks the result of the main part of a step, JOB/ID: "success" or "failure", and
// some of its outputs, in pairs of name and value.
func (r *Result) WantStep(t testing.TB, step, result string, outputs ...string) {
	t.Helper()
	job, id, _ := strings.Cut(step, "/")
	i := slices.IndexFunc(r.Steps, func(s *Step) bool { return s.Job == job && s.ID == id && s.Stage == "Main" })
	if i < 0 || r.Steps[i].Result != result {
		t.Fatalf("step %s: got %v\nwant %s", step, r, result)
	}
	for want := range slices.Chunk(outputs, 2) {
		if got := r.Steps[i].Outputs[want[0]]; got != want[1] {
			t.Errorf("step %s: output %s: got %q, want %q\n%v", step, want[0], got, want[1], r)
		}
	}
}

// String shows a result in a failure, without the secrets that steps named.
func (r *Result) String() string {
	var b strings.Builder
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "--- job %s, step %s %s: %q\n", s.Job, s.ID, s.Stage, s.Result)
		for _, line := range s.log {
			if !strings.HasPrefix(line, "::add-mask::") {
				fmt.Fprintln(&b, line)
			}
		}
	}
	if len(r.Steps) == 0 {
		b.WriteString(r.act)
	}
	return b.String()
}

// newResult reads act's output.
func newResult(out []byte, stderr string) *Result {
	r := &Result{}
	for line := range bytes.Lines(out) {
		r.take(line)
	}
	r.act += stderr
	return r
}

// line is a line of act's output.
type line struct {
	Msg      string            `json:"msg"`
	Job      string            `json:"jobID"`
	IDs      []string          `json:"stepID"`
	Stage    string            `json:"stage"`
	IsOutput bool              `json:"raw_output"`
	Command  string            `json:"command"`
	Raw      string            `json:"raw"` // the command as it was written
	Name     string            `json:"name"`
	Arg      string            `json:"arg"`
	Pairs    map[string]string `json:"kvPairs"`
	Result   string            `json:"stepResult"`
}

// take adds a line to what happened.
func (r *Result) take(data []byte) {
	var l line
	switch err := json.Unmarshal(data, &l); {
	case err != nil:
		r.act += string(data) // before its log begins act writes plain text
	case len(l.IDs) == 0 || l.Stage == "":
		r.act += l.Msg + "\n"
	default:
		r.step(l).take(l)
	}
}

// step returns the step that a line is about.
func (r *Result) step(l line) *Step {
	id := strings.Join(l.IDs, ".")
	for _, s := range r.Steps {
		if s.Job == l.Job && s.ID == id && s.Stage == l.Stage {
			return s
		}
	}
	s := &Step{Job: l.Job, ID: id, Stage: l.Stage, Outputs: map[string]string{}}
	r.Steps = append(r.Steps, s)
	return s
}

func (s *Step) take(l line) {
	switch {
	case l.IsOutput:
		s.log = append(s.log, strings.TrimRight(l.Msg, "\r\n"))
	case l.Raw != "":
		s.log = append(s.log, strings.TrimRight(l.Raw, "\r\n"))
	}
	if l.Result != "" {
		s.Result = l.Result
	}
	if l.Command == "set-output" {
		s.Outputs[cmp.Or(l.Name, l.Pairs["name"])] = l.Arg
	}
}

package acttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Result is what happened in a workflow run.
type Result struct {
	Code  int               // act's exit code: 0 when every job succeeded
	Jobs  map[string]string // by id: "success" or "failure"; absent while it runs, or when it was skipped
	Steps []*Step           // in the order in which they began
	Log   string            // what all steps wrote, line by line, and the commands among it as they were written
	Act   string            // what act itself says
	Left  []string          // the command lines of what outlived the run, there being nothing that should

	Stderr string
}

// Step is one stage of a step of a job: its main part, or what runs after all
// steps.
type Step struct {
	Job, ID string // the ids in the workflow file; without one the step's number
	Matrix  map[string]any
	Stage   string // "Pre", "Main" or "Post"
	Name    string
	Result  string // "success" or "failure"; "" until it ends
	Took    time.Duration

	Outputs     map[string]string
	State       map[string]string // what the main part leaves for the post part by command
	Annotations []Annotation
	Masks       []string
	Summary     string
	Log         []string // lines, the commands among them as they were written
}

// Annotation is an error, a warning or a notice.
type Annotation struct {
	Level string // "error", "warning" or "notice"
	File  string
	Line  int
	Title string
	Text  string // unescaped
}

// Step returns the main part of a step, and nil while there is none.
func (r *Result) Step(job, id string) *Step { return r.find(job, id, "Main") }

// Post returns the post part of a step, and nil while there is none.
func (r *Result) Post(job, id string) *Step { return r.find(job, id, "Post") }

func (r *Result) find(job, id, stage string) *Step {
	for _, s := range r.Steps {
		if s.Job == job && s.ID == id && s.Stage == stage {
			return s
		}
	}
	return nil
}

// String shows a result in a failure.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d, jobs %v\n", r.Code, r.Jobs)
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "--- job %s, step %s %s: %q after %v\n", s.Job, s.ID, s.Stage, s.Result, s.Took.Round(time.Millisecond))
		for _, line := range s.Log {
			fmt.Fprintf(&b, "%s\n", line)
		}
	}
	fmt.Fprintf(&b, "--- act\n%s%s", r.Act, r.Stderr)
	return b.String()
}

func newResult() *Result { return &Result{Jobs: map[string]string{}} }

// clone returns a copy that does not change when the original does.
func (r *Result) clone() *Result {
	c := *r
	c.Jobs, c.Left, c.Steps = maps.Clone(r.Jobs), slices.Clone(r.Left), nil
	for _, s := range r.Steps {
		step := *s
		step.Outputs, step.State = maps.Clone(s.Outputs), maps.Clone(s.State)
		step.Annotations, step.Masks, step.Log = slices.Clone(s.Annotations), slices.Clone(s.Masks), slices.Clone(s.Log)
		c.Steps = append(c.Steps, &step)
	}
	return &c
}

// maxLine is the longest line of act's output: one line has a whole summary.
const maxLine = 64 << 20

func newLines(out io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(out)
	s.Buffer(nil, maxLine)
	return s
}

// line is a line of act's output.
type line struct {
	Msg       string            `json:"msg"`
	Job       string            `json:"jobID"`
	Matrix    map[string]any    `json:"matrix"`
	Step      string            `json:"step"`
	IDs       []string          `json:"stepID"`
	Stage     string            `json:"stage"`
	IsOutput  bool              `json:"raw_output"`
	Command   string            `json:"command"`
	Raw       string            `json:"raw"` // the command as it was written
	Name      string            `json:"name"`
	Arg       string            `json:"arg"`
	Pairs     map[string]string `json:"kvPairs"`
	Content   string            `json:"content"`
	Result    string            `json:"stepResult"`
	Took      time.Duration     `json:"executionTime"`
	JobResult string            `json:"jobResult"`
}

// take adds a line to what happened.
func (r *Result) take(data []byte) {
	var l line
	if json.Unmarshal(data, &l) != nil {
		r.Act += string(data) + "\n" // before its log begins act writes plain text
		return
	}
	switch {
	case l.JobResult != "":
		r.Jobs[l.Job] = l.JobResult
	case len(l.IDs) == 0 || l.Stage == "":
		r.Act += l.Msg + "\n"
	default:
		r.step(l).take(l)
		r.log(l)
	}
}

// log adds what a step wrote.
func (r *Result) log(l line) {
	if text, ok := l.written(); ok {
		r.Log += text + "\n"
	}
}

// written returns the line that a step wrote, if it is one.
func (l line) written() (string, bool) {
	if l.IsOutput {
		return strings.TrimRight(l.Msg, "\r\n"), true
	}
	return strings.TrimRight(l.Raw, "\r\n"), l.Raw != ""
}

// step returns the step that a line is about.
func (r *Result) step(l line) *Step {
	id := strings.Join(l.IDs, ".")
	for _, s := range r.Steps {
		if s.Job == l.Job && s.ID == id && s.Stage == l.Stage && fmt.Sprint(s.Matrix) == fmt.Sprint(l.Matrix) {
			return s
		}
	}
	s := &Step{
		Job: l.Job, ID: id, Matrix: l.Matrix, Stage: l.Stage, Name: l.Step,
		Outputs: map[string]string{}, State: map[string]string{},
	}
	r.Steps = append(r.Steps, s)
	return s
}

func (s *Step) take(l line) {
	if text, ok := l.written(); ok {
		s.Log = append(s.Log, text)
	}
	if l.Result != "" {
		s.Result, s.Took = l.Result, l.Took
	}
	switch l.Command {
	case "error", "warning", "notice":
		number, _ := strconv.Atoi(l.Pairs["line"])
		s.Annotations = append(s.Annotations, Annotation{l.Command, l.Pairs["file"], number, l.Pairs["title"], l.Arg})
	case "set-output":
		s.Outputs[orElse(l.Name, l.Pairs["name"])] = l.Arg
	case "save-state":
		s.State[l.Pairs["name"]] = l.Arg
	case "add-mask":
		s.Masks = append(s.Masks, l.Arg)
	case "summary":
		s.Summary += l.Content
	}
}

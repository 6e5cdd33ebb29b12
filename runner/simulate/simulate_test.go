package simulate_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/raymond-action/raymond-action/internal/goldentest"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// epoch is the time at which all simulations start.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// simulation is a simulated run. It is also the run's reporter, and records what happened.
type simulation struct {
	clock   *simulate.Clock
	actor   *simulate.Actor
	people  *simulate.People
	replies *simulate.Replies
	model   *report.Model
	lines   []string // a line for each event, with the simulated time
}

// Report implements runner.Reporter, together with Tick, Note and Doing.
func (p *simulation) Report(e state.Event) {
	p.model.Add(e)
	if line := describeBody(e.Body); line != "" {
		at := e.Time.Sub(epoch)
		p.lines = append(p.lines, strings.TrimRight(fmt.Sprintf("%v %s %s %s", at, e.Agent, e.State, line), " "))
	}
}

func (p *simulation) Tick(time.Time)                        {}
func (p *simulation) Note(string, string, string)           {}
func (p *simulation) Doing(string, string, runner.Progress) {}

// describeBody describes an event by the data that the simulation determines. It returns "" for
// events that the tests ignore.
func describeBody(b state.Body) string {
	switch b := b.(type) {
	case *state.StateStarted:
		return "starts"
	case *state.StateFinished:
		return strings.TrimRight(fmt.Sprintf("ok=%t $%s %s %s", b.OK, b.USD, b.Error, strings.Join(b.Denied, ", ")), " ")
	case *state.Reminder:
		return fmt.Sprintf("reminder %d", b.N)
	case *state.Retry:
		return fmt.Sprintf("retry %d: %s", b.N, b.Error)
	case *state.NodeAttempt:
		return fmt.Sprintf("attempt %d converged=%t %s", b.Attempt, b.Converged, b.Reason)
	case *state.AgentOutput:
		return "says " + b.Text
	case *state.AgentWaits:
		return strings.TrimRight(fmt.Sprintf("waits for %s %s", b.For, b.Question), " ")
	case *state.AgentGoesOn:
		return "continues by " + b.By
	case *state.RunFinished:
		return fmt.Sprintf("run %s, %s, $%s, %d states: %s", b.Status, b.Outcome, b.USD, b.Iterations, b.Reason)
	}
	return ""
}

// scripts is a backend that does not run scripts, but returns their text. If the text of a script
// has several lines, the first run returns the first line, and so on. Later runs return the last
// line.
type scripts struct {
	files map[string]string
	mu    sync.Mutex // guards runs
	runs  map[string]int
}

func (s *scripts) Run(_ context.Context, o runner.Order, _ func(runner.Progress)) (runner.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(s.files[o.State]), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") })
	n := s.runs[o.Agent+o.State]
	s.runs[o.Agent+o.State]++
	return runner.Answer{Text: lines[min(n, len(lines)-1)]}, nil
}

// commands is a verifier that does not run commands. Commands that contain "fail" fail.
type commands struct{}

func (commands) Ready() error { return nil }

func (commands) SaveProtected(runner.Order) map[string]string { return nil }

func (commands) Verify(_ context.Context, c runner.Order, _ func(runner.Progress)) state.Verification {
	var v state.Verification
	for _, cmd := range c.Commands {
		v.Results = append(v.Results, state.CommandResult{Cmd: cmd, RC: strings.Count(cmd, "fail")})
	}
	return v
}

func loadWorkflow(t *testing.T, files map[string]string) *protocol.Workflow {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, problems := protocol.Load(fsys, protocol.LoadOptions{Platform: protocol.Unix})
	assert.Assert(t, is.Len(problems, 0), "load the workflow")
	return w
}

func readReplies(t *testing.T, text string) *simulate.Replies {
	t.Helper()
	r, problems, err := simulate.Read(strings.NewReader(text))
	assert.NilError(t, err, "read replies:\n%s\ngot %v, %v", text, problems, err)
	assert.Assert(t, is.Len(problems, 0), "read replies:\n%s\ngot %v, %v", text, problems, err)
	return r
}

// simulateRun simulates a workflow with the replies in its file replies.yaml. change may be nil.
func simulateRun(t *testing.T, files map[string]string, change func(*state.Options, *runner.Config)) *simulation {
	t.Helper()
	w := loadWorkflow(t, files)
	p := &simulation{model: report.NewModel(), clock: simulate.NewClock(epoch), replies: readReplies(t, files["replies.yaml"])}
	assert.Assert(t, is.Len(p.replies.Check(w), 0), "check replies")
	p.actor = simulate.NewActor(p.replies, p.clock, &scripts{files: files, runs: map[string]int{}}, commands{})
	p.people = simulate.NewPeople(p.replies)
	ids := 0
	cfg := runner.Config{
		Workflow: w, NewID: func() string { ids++; return fmt.Sprint("s", ids) }, PayloadDir: t.TempDir(), ScriptDir: "/scripts",
		Clock: p.people.Runner(p.clock), Prompter: p.people, Hold: -1, Verifier: p.actor, Store: p.actor, Agents: p.actor.Agents(), Scripts: p.actor.Scripts(), Reporter: p,
	}
	meta := map[string]string{}
	for k, v := range p.replies.Meta {
		meta[k] = string(v)
	}
	run := state.Run{
		WorkflowID: "w", Mark: "0123456789abcdef", Scope: "/wf", Entry: w.Entry(), Dir: t.TempDir(), Files: w.Hashes(), Meta: meta,
		Options: state.Options{
			BudgetUSD: 10 * state.Dollar, MaxParallel: 4, MaxAgents: 256, MaxDepth: 64, MaxRetries: 3, MaxReminders: 3,
			Grace: state.Duration(30 * time.Second), PermissionMode: "acceptEdits",
		},
	}
	if change != nil {
		change(&run.Options, &cfg)
	}
	r := runner.New(cfg, state.New(run, string(p.replies.Input), epoch))
	assert.NilError(t, r.Run(t.Context(), false, nil))
	return p
}

// String returns a text with the events, the missing and the unused replies, and the differences
// from the expectations.
func (p *simulation) String() string {
	var b strings.Builder
	for _, part := range []struct {
		name  string
		lines []string
	}{{"", p.lines}, {"missing: ", p.actor.Missing()}, {"unused: ", p.actor.Unused()}, {"unused: ", p.people.Unused()}, {"wrong: ", p.people.Wrong()}, {"diff: ", p.replies.Expect.Diff(p.model)}} {
		for _, l := range part.lines {
			b.WriteString(strings.TrimRight(part.name+l, " ") + "\n")
		}
	}
	return b.String()
}

// TestRuns simulates the workflows in testdata/run and compares the results with golden texts.
func TestRuns(t *testing.T) {
	goldentest.Each(t, "testdata/run/*.txtar", func(t *testing.T, files map[string]string) string {
		return simulateRun(t, files, func(o *state.Options, cfg *runner.Config) {
			flags := files["flags"]
			for name, set := range map[string]func(){
				"max-parallel 1": func() { o.MaxParallel = 1 },
				"budget 1":       func() { o.BudgetUSD = state.Dollar },
				"deadline 5m":    func() { cfg.Deadline = 5 * time.Minute },
				"keep-going":     func() { o.KeepGoing = true },
				"verbose":        func() { cfg.Verbosity = runner.VerbosityFull },
			} {
				if strings.Contains(flags, name) {
					set()
				}
			}
		}).String()
	})
}

// TestSimulationIsDeterministic simulates a run repeatedly and checks that the result is always the
// same. In the run, parallel agents share the replies for a state. Replies have different delays,
// and scripts run in between.
func TestSimulationIsDeterministic(t *testing.T) {
	var replies strings.Builder
	replies.WriteString("states:\n  WORK.md:\n")
	for i := range 12 {
		fmt.Fprintf(&replies, "    - {text: <goto>MOVE%d.sh</goto>, delay: %ds, cost: 0.%02d}\n", i%2, (i*5%4)*7, i+1)
	}
	replies.WriteString("  END.md:\n")
	for i := range 12 {
		fmt.Fprintf(&replies, "    - {text: <result>%d</result>, delay: %dm}\n", i, i%3)
	}
	forks := ""
	for i := range 12 {
		forks += fmt.Sprintf(`<fork next="WAIT.sh" n="%d">WORK.md</fork>`, i)
	}
	files := map[string]string{
		"START.sh": "# raymond: many_forks=true\n" + forks, "WORK.md": "Work.", "END.md": "End.",
		"MOVE0.sh": "<goto>END.md</goto>", "MOVE1.sh": "<goto>END.md</goto>",
		"WAIT.sh":      strings.Repeat("<goto>WAIT.sh</goto>\n", 5) + "<result>over</result>",
		"replies.yaml": replies.String(),
	}
	wide := func(o *state.Options, _ *runner.Config) { o.MaxParallel = 13 }
	first := ""
	for n := range 20 {
		got := simulateRun(t, files, wide).String()
		if first == "" {
			first = got
		}
		assert.Equal(t, got, first, "run %d: want the same as in the first run", n+1)
	}
	assert.Check(t, is.Contains(first, "run completed"), "run")
}

func writeReplies(t *testing.T, r *simulate.Replies) string {
	t.Helper()
	var b bytes.Buffer
	assert.NilError(t, r.Write(&b))
	return b.String()
}

// TestReplies checks which problems are found in the replies files in testdata/replies, and at
// which positions. Files without problems are written again.
func TestReplies(t *testing.T) {
	goldentest.Each(t, "testdata/replies/*.txtar", func(t *testing.T, files map[string]string) string {
		r, problems, err := simulate.Read(bytes.NewReader(goldentest.Bytes(files["replies.yaml"])))
		assert.NilError(t, err)
		delete(files, "replies.yaml")
		if len(problems) == 0 && len(files) > 0 {
			problems = r.Check(loadWorkflow(t, files))
		}
		got := ""
		for _, p := range problems {
			got += p.Code + " " + p.String() + "\n"
		}
		if got == "" {
			got = writeReplies(t, r)
		}
		return got
	})
}

// FuzzWrite checks that a text is unchanged after it was written to a replies file and read back.
func FuzzWrite(f *testing.F) {
	for _, text := range []string{"", " a\n", "\n  a\n b", "a\r\nb", "- x: |", "\x00\x1b[1m\u0085\u2028\ufeff", "'\"\\", "null", "1", "#", "a: b\t\n\n\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		r := &simulate.Replies{States: map[string][]simulate.Reply{"A.md": {{Text: simulate.Text(text)}}}}
		if got := readReplies(t, writeReplies(t, r)).States["A.md"][0].Text; string(got) != text {
			t.Errorf("%q: got %q back from\n%s", text, got, writeReplies(t, r))
		}
	})
}

// TestPublishedSchema checks that docs/schema/replies.schema.json is a copy of the schema that Read
// uses.
func TestPublishedSchema(t *testing.T) {
	data, err := os.ReadFile("replies.schema.json")
	assert.NilError(t, err)
	golden.Assert(t, string(data), "../../../docs/schema/replies.schema.json")
}

// TestPathDiff checks the lines in which Diff reports the differences between two paths.
func TestPathDiff(t *testing.T) {
	for _, c := range []struct{ want, got, diff string }{
		{"A B C", "A B C", ""},
		{"A B C", "A C", "  (the same: 1 before, 1 after),- B"},
		{"A C", "A B C", "  (the same: 1 before, 1 after),+ B"},
		{"A", "", "- A"},
		{"A B", "B A", "- A,- B,+ B,+ A"},
		{"A A B", "A A A B", "  (the same: 2 before, 1 after),+ A"},
	} {
		m := &report.Model{Ending: &state.RunFinished{Status: state.Completed}}
		for _, st := range strings.Fields(c.got) {
			m.Executions = append(m.Executions, &report.Exec{Agent: "main", State: st})
		}
		got := (&simulate.Expect{Path: simulate.Path{"main": strings.Fields(c.want)}}).Diff(m)
		if len(got) > 0 {
			got = got[1:]
		}
		assert.Check(t, is.Equal(strings.Join(got, ","), c.diff), "%q and %q", c.want, c.got)
	}
}

// TestClockStandsStillWhileTheOwnerWorks checks that no alarm fires while the owner is still
// starting workers at the current time.
func TestClockStandsStillWhileTheOwnerWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := simulate.NewClock(epoch)
		owner := clock.Runner()
		owner.After(time.Hour)
		owner.Idle(1)
		// A worker that took no time has answered, so the owner works again.
		owner.Now()
		over := make(chan struct{})
		go func() {
			clock.Wait(t.Context(), 2, 10*time.Minute)
			close(over)
		}()
		synctest.Wait()
		select {
		case <-over:
			t.Errorf("a new worker: got its ten minutes over at %v, want it to wait for the owner", owner.Now())
		default:
		}
		owner.After(time.Hour)
		owner.Idle(1)
		<-over
		assert.Check(t, is.Equal(owner.Now().Sub(epoch), 10*time.Minute), "time when the worker is done: want 10m")
	})
}

// TestClockIgnoresCancelledWorkers checks that a cancelled worker stops waiting at the current
// time, and that this does not move the clock.
func TestClockIgnoresCancelledWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := simulate.NewClock(epoch)
		owner := clock.Runner()
		ctx, stop := context.WithCancel(t.Context())
		alarm := owner.After(time.Second)
		go clock.Wait(ctx, 1, time.Hour)
		owner.Idle(1)
		assert.Check(t, is.Equal((<-alarm).Sub(epoch), time.Second), "alarm of the owner")
		stop()
		owner.After(time.Minute)
		owner.Idle(1)
		synctest.Wait()
		assert.Check(t, is.Equal(owner.Now().Sub(epoch), time.Second), "time after the worker was stopped: want 1s as before")
	})
}

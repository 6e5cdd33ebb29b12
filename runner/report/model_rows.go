package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Statuses of executions, agents and segments. A segment that has ended normally has the status of
// the run at that time.
const (
	Running     = "running"
	Interrupted = "interrupted"
	Completed   = "completed"
	Failed      = "failed"

	statusWaiting = "waiting"
	statusEnded   = "ended"
)

// Segment is a period in which one process drove the run.
type Segment struct {
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"`
	Status     string    `json:"status,omitempty"` // of the run at the end of the segment
	Reason     string    `json:"reason,omitempty"`
	DurationMS int64     `json:"duration_ms,omitempty"`
}

// Agent is an agent of the run: a thread that moves from state to state.
type Agent struct {
	ID         string            `json:"id"`
	Parent     string            `json:"parent,omitempty"`
	State      string            `json:"state,omitempty"` // current or last state
	Status     string            `json:"status"`          // running, waiting, failed or ended
	Vars       map[string]string `json:"vars,omitempty"`
	Result     string            `json:"result,omitempty"`
	Error      string            `json:"error,omitempty"`
	Spent      Spent             `json:"spent"`
	Executions int               `json:"executions,omitempty"` // number of executions that have started

	last       *Exec // newest execution
	transition *state.Transition
	hasResult  bool
	ended      Spent // cost of the executions that have ended

	lines    []string        // last lines of the agent's text; only in a live model
	toolUses map[string]int  // number of calls, by tool; only in a live model
	refusals []state.Refusal // denied tool calls, without duplicates
	unlisted int             // number of denied tool calls beyond maxRefused
}

// setOpenCost sets the cost so far of the agent's open execution. It does nothing if no execution
// is open.
func (a *Agent) setOpenCost(spent state.Spent, models map[string]state.USD) {
	if x := a.last; x.isOpen() {
		x.Spent.Spent, x.Models = spent, models
		a.Spent = a.ended.Plus(x.Spent)
	}
}

// fail marks the agent as failed in the state of an event.
func (a *Agent) fail(e state.Event, fault string) {
	a.State, a.Status, a.Error = e.State, Failed, state.DescribeFailure(fault, a.last.lastVerdict())
}

// Exec is a state execution: one visit of an agent to a state. It is a row in the summary's table,
// and a bar and a section in the HTML report.
type Exec struct {
	N       int       `json:"exec"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"`
	Kind    string    `json:"kind"`   // prompt or script
	Status  string    `json:"status"` // completed, failed, interrupted or running
	Error   string    `json:"error,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// DurationMS is the time that was spent on the execution. It does not include the time between
	// segments.
	DurationMS int64 `json:"duration_ms,omitempty"`
	Spent      Spent `json:"spent"`
	// Total is the cost of the run at the end of the execution.
	Total  state.USD            `json:"total_usd"`
	Models map[string]state.USD `json:"models,omitempty"`

	AgentCLI   string            `json:"agent_cli,omitempty"`
	Backend    string            `json:"-"` // name of the agent CLI; only set if this process started or resumed the execution
	Model      string            `json:"model,omitempty"`
	SessionID  string            `json:"session_id,omitempty"`
	Mode       string            `json:"session,omitempty"` // fresh, resume or branch
	Cwd        string            `json:"cwd,omitempty"`
	Turns      int               `json:"turns,omitempty"`
	Transition *state.Transition `json:"transition"` // last transition, or nil
	Reminders  []TimedNote       `json:"reminders,omitempty"`
	Retries    []TimedNote       `json:"retries,omitempty"`
	// Interruptions are the attempts that were interrupted and then repeated.
	Interruptions []Interruption  `json:"interruptions,omitempty"`
	Attempts      []Attempt       `json:"attempts,omitempty"`
	Refusals      []state.Refusal `json:"refusals,omitempty"`
	ExitCode      *int            `json:"exit_code,omitempty"`
	Signal        string          `json:"signal,omitempty"`
	Stdout        string          `json:"stdout_tail,omitempty"`
	Stderr        string          `json:"stderr_tail,omitempty"`
	Output        []string        `json:"output,omitempty"` // from agent_output events; nil if Messages is set

	Messages []runner.Message `json:"messages,omitempty"`
	// Gap describes where some of the Messages were left out. It is nil if Messages is complete.
	Gap *Gap `json:"messages_left_out,omitempty"`
	// IsCut is set if any of the texts above were left out, for example lines of output.
	IsCut bool `json:"texts_left_out,omitempty"`
	// Files are the files that the execution changed. It is nil if the run has no workspace
	// snapshots.
	Files    []File `json:"files"`
	IsShared bool   `json:"files_shared,omitempty"` // other agents used the directory at the same time

	work            stopwatch
	isExhausted     bool // the execution failed because no attempts were left
	attempt         int  // number of the newest attempt
	serviceRetries  int  // number of retries because the service was unavailable
	firstTransition *state.Transition
	transitionCount int
}

// Gap records where messages were left out of a list, and how many.
type Gap struct {
	After    int `json:"after"`    // number of messages before the gap
	Messages int `json:"messages"` // number of messages left out
}

// TimedNote is a text about something that happened during an execution, such as a retry.
type TimedNote struct {
	Time      time.Time `json:"time"`
	Text      string    `json:"text"`
	BackoffMS int64     `json:"backoff_ms,omitempty"`
}

// Interruption records that an attempt was interrupted. Time is the time at which the run was
// resumed.
type Interruption struct {
	Time time.Time `json:"time"`
	state.AttemptInterrupted
}

// Attempt is an attempt with a verdict, in a state with done_when.
type Attempt struct {
	Ended time.Time `json:"ended"`
	state.NodeAttempt
}

// File is a file that an execution has changed.
type File struct {
	Path   string `json:"path"`   // path in the repository, with slashes
	Change string `json:"change"` // "added", "changed" or "deleted"
	Diff   string `json:"diff,omitempty"`
	Cut    bool   `json:"diff_cut,omitempty"`
}

// Limit records that a limit was reached or almost reached.
type Limit struct {
	Time time.Time `json:"time"`
	Exec int       `json:"exec,omitempty"`
	state.Limit
}

// Attempt returns the number of the newest attempt, at least 1.
func (x *Exec) Attempt() int { return max(1, x.attempt) }

// lastVerdict returns the newest verdict on an attempt. It returns nil if no attempt has a verdict,
// or if x is nil.
func (x *Exec) lastVerdict() *state.NodeAttempt {
	if x == nil || len(x.Attempts) == 0 {
		return nil
	}
	return &x.Attempts[len(x.Attempts)-1].NodeAttempt
}

// FailedCommand returns the first failed command of the newest attempt with a verdict, or nil if no
// command failed.
func (x *Exec) FailedCommand() *state.CommandResult {
	if v := x.lastVerdict(); v != nil {
		if i := slices.IndexFunc(v.Results, func(r state.CommandResult) bool { return r.RC != 0 }); i >= 0 {
			return &v.Results[i]
		}
	}
	return nil
}

// isOpen reports whether the execution has not ended. It returns false if x is nil.
func (x *Exec) isOpen() bool { return x != nil && x.Status == Running }

// stopwatch measures the time that was spent on an execution.
type stopwatch struct {
	resumed    time.Time     // start of the current period of work
	worked     time.Duration // total duration of the earlier periods
	isPaused   bool          // the stopwatch is stopped, because the run stopped or the agent waits
	isRepeated bool          // a later segment of the run started the execution again
}

// pause stops the stopwatch at the given time, unless it is stopped.
func (s *stopwatch) pause(at time.Time) {
	if !s.isPaused {
		s.worked += max(0, at.Sub(s.resumed))
		s.isPaused = true
	}
}

// resume starts a stopped stopwatch at the given time.
func (s *stopwatch) resume(at time.Time) {
	if s.isPaused {
		s.isPaused, s.resumed = false, at
	}
}

// Spent is a cost and the tokens that were used, which may be unknown (nil).
type Spent struct {
	state.Spent
	Tokens *state.Tokens `json:"tokens,omitempty"`
}

// Plus returns the sum of two costs and of their tokens. Unknown tokens count as none.
func (s Spent) Plus(t Spent) Spent {
	sum := Spent{s.Spent.Plus(t.Spent), cmp.Or(s.Tokens, t.Tokens)}
	if a, b := s.Tokens, t.Tokens; a != nil && b != nil {
		sum.Tokens = &state.Tokens{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Output: a.Output + b.Output}
	}
	return sum
}

// Sum is the total cost of all executions in a state, by an agent, or with a model.
type Sum struct {
	Name       string `json:"name"`
	Executions int    `json:"executions"`
	Failed     int    `json:"failed"`
	Retries    int    `json:"retries"` // retries, and attempts after the first
	DurationMS int64  `json:"duration_ms"`
	Spent      Spent  `json:"spent"`
}

// sums contains totals by name. The names in one map are all states, all agents, or all models.
type sums map[string]*Sum

// of returns the total for a name. It adds a total if the name is new.
func (s sums) of(name string) *Sum {
	if s[name] == nil {
		s[name] = &Sum{Name: name}
	}
	return s[name]
}

// addModels adds the cost and the duration of one execution to the totals of its models. models
// contains the known cost for each model. The remaining cost is added to the name "" or, if models
// is empty, to the requested model. The duration is added to the most expensive model only.
func (s sums) addModels(spent Spent, models map[string]state.USD, requested string, ms int64) {
	rest := spent.Spent
	for model, usd := range models {
		rest.USD -= usd
		s.addModel(model, state.Spent{USD: usd, Estimated: spent.Estimated})
	}
	if len(models) > 0 {
		s.addModel("", rest)
	} else {
		s.addModel(requested, rest)
	}
	if sum := s[cut(cmp.Or(MainModel(models), requested), widestCell)]; sum != nil && sum.Name != "" {
		sum.DurationMS += ms
	}
}

// MainModel returns the model with the highest cost, or "" if models is empty.
func MainModel(models map[string]state.USD) string {
	name, most := "", state.USD(-1)
	for model, usd := range models {
		if usd > most || usd == most && model < name {
			name, most = model, usd
		}
	}
	return name
}

// maxModels is the maximum number of models that get a separate total.
const maxModels = 10

// addModel adds a cost to the total of a model, unless the cost is zero. The cost is added to the
// name "" if the model is unknown, or if maxModels other models already have totals.
func (s sums) addModel(model string, spent state.Spent) {
	if model = cut(model, widestCell); s[model] == nil && len(s) >= maxModels {
		model = ""
	}
	if spent.USD > 0 || spent.Unknown > 0 || spent.Unpriced > 0 {
		sum := s.of(model)
		sum.Executions++
		sum.Spent.Spent = sum.Spent.Plus(Spent{Spent: spent}).Spent
	}
}

// Totals returns the totals for each state, each agent and each model, most expensive first. They
// include open executions. The total with the name "" in byModel is the cost of all other models and
// of unknown models.
func (m *Model) Totals() (byState, byAgent, byModel []Sum) {
	all, lists := []sums{{}, {}, {}}, make([][]Sum, 3)
	for i, ended := range []sums{m.byState, m.byAgent, m.byModel} {
		for name, sum := range ended {
			one := *sum
			all[i][name] = &one
		}
	}
	for _, x := range m.openExecs() {
		for _, sum := range []*Sum{all[0].of(x.State), all[1].of(x.Agent)} {
			sum.Spent = sum.Spent.Plus(x.Spent)
		}
		all[2].addModels(x.Spent, x.Models, "", 0)
	}
	for i := range all {
		lists[i] = make([]Sum, 0, len(all[i]))
		for _, sum := range all[i] {
			lists[i] = append(lists[i], *sum)
		}
		slices.SortFunc(lists[i], func(a, b Sum) int {
			return cmp.Or(cmp.Compare(b.Spent.USD, a.Spent.USD), cmp.Compare(b.DurationMS, a.DurationMS), cmp.Compare(a.Name, b.Name))
		})
	}
	return lists[0], lists[1], lists[2]
}

// total returns the cost of the run so far that events have reported.
func (m *Model) total() state.Spent { return m.spent.AtLeast(m.spentAtLimit) }

// Output is the end of a failed script's stdout or stderr. It starts at the start of a line.
type Output struct{ Name, Text string }

// maxOutputEnd is the maximum size of an Output in bytes. It is slightly below 4096: events contain
// only the last 4096 bytes of a longer output, or up to three bytes less, so that they start at a
// character. A shortened output always exceeds maxOutputEnd, so its first, incomplete line is
// removed. A shorter output is complete.
const maxOutputEnd = 4092

// Outputs returns the end of the execution's stdout and stderr. It leaves out an output that has
// only white space.
func (x *Exec) Outputs() []Output {
	var all []Output
	if x != nil && strings.TrimSpace(x.Stdout) != "" {
		all = append(all, Output{"stdout", text.LastLines(x.Stdout, maxOutputEnd)})
	}
	if x != nil && strings.TrimSpace(x.Stderr) != "" {
		all = append(all, Output{"stderr", text.LastLines(x.Stderr, maxOutputEnd)})
	}
	return all
}

// reason returns why the agent failed. It leaves out quoted outputs, which are shown separately.
func (a *Agent) reason() string {
	why := a.Error
	for _, one := range a.last.Outputs() {
		why, _, _ = strings.Cut(why, "; "+one.Name+": ")
	}
	return why
}

// The limits for the agents' texts. They keep summaries small if a run is large.
const (
	maxAgents  = 1000 // agents in a summary
	maxText    = 8 << 10
	maxResult  = 16 << 10
	maxRefused = 50 // different denied tool calls of an agent
	maxTools   = 50 // different tools that an agent called
	maxLines   = 20 // last lines of an agent's text that are stored
	maxOutput  = 4 << 10

	widestTransition = 120  // columns of a transition
	widestAgentLine  = 300  // columns of an agent's line, or of a command
	widestRefused    = 200  // columns of a denied tool call
	widestSetting    = 1200 // columns of the setting that may allow the call; a shortened one would be useless
)

// addLine adds a line of an agent's text. If the line reports a tool call, addLine does not add the
// line, but counts the call.
func (a *Agent) addLine(s string) {
	if m := toolUse().FindStringSubmatch(s); m != nil && len(m[1]) <= widestName {
		if _, known := a.toolUses[m[1]]; known || len(a.toolUses) < maxTools {
			a.toolUses[m[1]]++
		}
		return
	}
	a.lines = append(a.lines, cut(text.Prefix(s, 8*widestAgentLine), widestAgentLine))
	a.lines = a.lines[max(0, len(a.lines)-maxLines):]
}

// toolUse matches a line in which a backend reports a tool call: the name of the tool and, in
// parentheses, its most important input. The same events also contain texts that an agent wrote. A
// text that looks like name(text) is also counted as a tool call.
var toolUse = text.Regexp(`(?s)^([A-Z][A-Za-z0-9_-]*|mcp__[A-Za-z0-9_-]*)\(.*\)$`)

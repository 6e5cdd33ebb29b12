package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Wait is a wait of an agent, with everything that users need to know about it. Its texts are
// untrusted.
type Wait struct {
	Agent string    `json:"agent"`
	State string    `json:"state"` // state that starts after the wait
	Since time.Time `json:"since"`
	// Comment is the id of the GitHub comment that asks the question, or 0 if it is unknown.
	Comment int64 `json:"comment,omitempty"`
	// Error is only set if the agent waits for a job in which it has failed before. It contains the
	// reason for that failure.
	Error string    `json:"error,omitempty"`
	To    time.Time `json:"to,omitzero"`  // end of the wait; zero if it is not known yet
	By    string    `json:"by,omitempty"` // what ended the wait, or who answered
	// Answer is only set in an insight.Report. It comes from the history of the run.
	Answer string `json:"answer,omitempty"`
	state.AgentWaits
}

// WaitsOf returns the waits of a run's agents, in the order in which the agents were created.
// Unlike events, these waits contain complete questions. If the run is a part of a matrix, only the
// part's agents are included.
func WaitsOf(run *state.Run) []Wait {
	var all []Wait
	var part []string // agents of the matrix part; nil for the whole run
	for _, p := range run.Parts {
		if p.Start == nil {
			continue
		}
		for _, a := range p.Agents {
			part = append(part, a.Agent)
		}
	}
	for _, a := range run.Agents {
		if a.Status != state.Waiting || a.Waits == nil || !isInPart(a.ID, part) {
			continue
		}
		w := Wait{Agent: a.ID, State: a.State, Since: a.Waits.Since, Error: a.Waits.Error}
		w.For, w.Job = a.Waits.For, a.Waits.Job
		if !a.Waits.Until.IsZero() {
			w.Until = a.Waits.Until.UTC().Format(time.RFC3339)
		}
		if q := a.Waits.Question; q != nil {
			w.Number, w.Question, w.Where, w.Comment = q.Number, string(q.Text), q.Where, q.Comment
			w.Choices, w.TimeoutNext, w.From = q.Choices, q.TimeoutNext, q.From
		}
		all = append(all, w)
	}
	return all
}

// isInPart reports whether an agent belongs to a matrix part, or was forked by an agent of the
// part. A nil part means the whole run, so the result is true.
func isInPart(agent string, part []string) bool {
	return part == nil || slices.ContainsFunc(part, func(p string) bool { return agent == p || strings.HasPrefix(agent, p+"_") })
}

// addWaitEvent starts or ends waits after an event about an agent.
func (m *Model) addWaitEvent(e state.Event) {
	ended, by := ForRetry, "" // the kind of wait that the event ends; "" for any kind
	switch b := e.Body.(type) {
	case *state.AgentOutput:
		return
	case *state.AgentGoesOn:
		ended, by = "", b.By
	case *state.AgentWaits, *state.StateStarted, *state.AgentFinished:
		ended = ""
	}
	if i, ok := m.waiting[e.Agent]; ok && (ended == "" || m.Waits[i].For == ended) {
		delete(m.waiting, e.Agent)
		w := &m.Waits[i]
		w.By = by
		if w.To.IsZero() || w.To.After(e.Time) {
			w.To = e.Time
		}
	}
	switch b := e.Body.(type) {
	case *state.AgentWaits:
		m.beginWait(Wait{Agent: e.Agent, State: e.State, Since: e.Time, AgentWaits: *b})
	case *state.Retry:
		if b.BackoffMS > 0 {
			m.beginWait(retryWait(e, e.Time, time.Duration(b.BackoffMS)*time.Millisecond))
		}
	case *state.NodeAttempt:
		if b.BackoffS != nil && *b.BackoffS > 0 {
			began := e.Time.Add(-secondsOf(b.DurationS + *b.BackoffS))
			m.Waits = append(m.Waits, retryWait(e, began, secondsOf(*b.BackoffS)))
		}
	}
}

// ForRetry is the kind of wait before an invocation or an attempt is repeated.
const ForRetry state.WaitFor = "retry"

// retryWait returns a wait before a retry. from is the start of the wait and lasts is its duration, so
// the end of the wait is already known.
func retryWait(e state.Event, from time.Time, lasts time.Duration) Wait {
	return Wait{Agent: e.Agent, State: e.State, Since: from, To: from.Add(lasts), AgentWaits: state.AgentWaits{For: ForRetry}}
}

// beginWait adds a wait and makes it the current wait of its agent.
func (m *Model) beginWait(w Wait) {
	m.waiting[w.Agent] = len(m.Waits)
	m.Waits = append(m.Waits, w)
}

// SetWaitDetails replaces current waits with more complete data, such as the full question and the
// comment that asks it. It ignores waits that have already ended.
func (m *Model) SetWaitDetails(waits []Wait) {
	for _, w := range waits {
		if i, ok := m.waiting[w.Agent]; ok && m.Waits[i].For == w.For && m.Waits[i].Number == w.Number {
			m.Waits[i] = w
		}
	}
}

// openWaits returns the waits that have not ended. It leaves out waits for retries.
func (m *Model) openWaits() []Wait {
	return slices.DeleteFunc(slices.Clone(m.Waits), func(w Wait) bool { return !w.To.IsZero() })
}

// currentWait returns an agent's wait that has not ended. It returns the zero value if the agent does
// not wait, or waits only before a retry.
func (m *Model) currentWait(agent string) Wait {
	if i, ok := m.waiting[agent]; ok && m.Waits[i].For != ForRetry {
		return m.Waits[i]
	}
	return Wait{}
}

// Questions returns all questions of the run. Wait.To is set in closed questions.
func (m *Model) Questions() []Wait { return waitsOfKind(m.Waits, state.ForAnswer) }

// waitsOfKind returns the waits of one kind: questions by number, others by the time at which they
// end.
func waitsOfKind(waits []Wait, kind state.WaitFor) []Wait {
	all := slices.DeleteFunc(slices.Clone(waits), func(w Wait) bool { return w.For != kind })
	slices.SortStableFunc(all, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), a.endTime().Compare(b.endTime()))
	})
	return all
}

// endTime returns the time at which the wait ends at the latest, or the zero time if the wait has
// no limit.
func (w *Wait) endTime() time.Time {
	t, _ := time.Parse(time.RFC3339, w.Until) // if this fails, t is the zero time
	return t
}

// untilText formats the time at which the wait ends at the latest. It returns "" if the wait has no
// limit.
func (w *Wait) untilText() string {
	if w.endTime().IsZero() {
		return ""
	}
	return FormatMinute(w.endTime())
}

// DefaultPrefix is the text at the start of comments that answer questions, if no other prefix is
// configured.
const DefaultPrefix = "/raymond"

const (
	answerPlaceholder = "your answer" // shown instead of an answer
	maxChoices        = 20            // choices that are listed for a question
	maxAnswers        = 3             // answers in one command
)

// AnswerLines returns the comments that answer a question: one for each of the first maxChoices
// choices. If the choices can't be listed, it returns a single comment with a placeholder. Each
// comment is one line without backticks. number is the number of the question, or 0 if no other
// question is open. An empty prefix means DefaultPrefix.
func AnswerLines(prefix string, number int, choices []string) []string {
	prefix = cmp.Or(prefix, DefaultPrefix)
	if number > 0 {
		prefix += fmt.Sprint(" ", number)
	}
	all := listedAnswers(choices)
	for i := range all {
		all[i] = prefix + " " + all[i]
	}
	return all
}

// listedAnswers returns the first maxChoices choices of a question. It returns a placeholder if the
// question has no choices, or if any choice can't be shown exactly as the user must write it.
func listedAnswers(choices []string) []string {
	if len(choices) == 0 || slices.ContainsFunc(choices, func(choice string) bool {
		return choice == "" || plain(choice) != choice || strings.Contains(choice, "`") || columns(choice) > widestName
	}) {
		return []string{answerPlaceholder}
	}
	return slices.Clone(choices[:min(len(choices), maxChoices)])
}

// waitHint returns the ResumeHint for a run with waiting agents. If many questions are open, only the
// first maxAnswers get a flag.
func waitHint(command string, waits []Wait) string {
	var hints []string
	switch open := waitsOfKind(waits, state.ForAnswer); {
	case len(open) == 1:
		all := listedAnswers(open[0].Choices)
		for i := range all {
			all[i] = shellQuoted(all[i])
		}
		text := "to answer: " + command + " --answer " + all[0]
		if others := all[1:]; len(others) > 0 {
			text += " (or " + strings.Join(others, ", ") + ")"
		}
		hints = append(hints, text)
	case len(open) > 1:
		text := "to answer: " + command
		for _, w := range open[:min(len(open), maxAnswers)] {
			answer := listedAnswers(w.Choices[:min(len(w.Choices), 1)])[0]
			text += " --answer " + shellQuoted(name(w.Agent)+"="+answer)
		}
		if more := len(open) - maxAnswers; more > 0 {
			text += fmt.Sprintf(" (and %s)", state.Count(more, "more question"))
		}
		hints = append(hints, text)
	}
	var names []string
	for _, of := range groupByJob(waitsOfKind(waits, state.ForJob)) {
		names = append(names, name(of[0].Job))
	}
	if len(names) > 0 {
		hints = append(hints, "to run the states that wait for a job: "+command+" --job "+strings.Join(names, ","))
	}
	if all := waitsOfKind(waits, state.ForTime); len(all) > 0 {
		hints = append(hints, "to resume from "+all[0].untilText()+" on: "+command)
	}
	if len(hints) == 0 {
		return "to resume: " + command
	}
	return strings.Join(hints, "; ")
}

// shellSafe matches words that need no quotes in a shell.
var shellSafe = text.Regexp(`^[A-Za-z0-9._=/-]+$`)

// shellQuoted quotes a word for a POSIX shell if necessary.
func shellQuoted(word string) string {
	if shellSafe().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// groupByJob returns groups of waits, in the order of their first waits, with all waits for one job in one
// group. Every other wait is a group.
func groupByJob(waits []Wait) [][]Wait {
	var all [][]Wait
	for _, w := range waits {
		i := slices.IndexFunc(all, func(of []Wait) bool { return w.Job != "" && of[0].Job == w.Job })
		if i < 0 {
			all = append(all, []Wait{w})
		} else {
			all[i] = append(all[i], w)
		}
	}
	return all
}

// Advice recommends how to continue a run in which an agent has failed.
type Advice struct {
	// FirstStep is the first step for the user before the run continues, without a full stop. It is
	// empty if no such step is known or needed.
	FirstStep string
	// NeedsFileChange is set if FirstStep changes files. In this case, GitHub's button that re-runs
	// a job does not help, because a re-run uses the old files.
	NeedsFileChange bool
	// RerunFrom is the state from which the run must be repeated, because a resume would fail
	// again. It is empty if the run can be resumed.
	RerunFrom string
	flags     string // flags of the resume command
}

// fixTheCause is the recommended first step if nothing more specific is known.
const fixTheCause = "fix the cause"

// adviceForCLI returns the advice for a user of the command line. If several agents have failed, the
// advice is for the first one. {state} in the first step is replaced with the state of that agent.
func adviceForCLI(run *state.Run) Advice {
	i := slices.IndexFunc(run.Agents, func(a *state.Agent) bool { return a.Failure != nil })
	if i < 0 {
		return Advice{FirstStep: fixTheCause}
	}
	a, fault := run.Agents[i], run.Agents[i].Failure.Message
	kind, _, _ := strings.Cut(fault, ": ")
	f, isFault := runner.FindFault(kind)
	var c Advice
	switch {
	// The agent has reached a limit of the run, so a resume with the same limit would fail again.
	// After the faults in runner.Faults, which follow below, a resume also needs a change.
	case kind == "max-agents":
		c.flags = fmt.Sprint(" --max-agents ", 2*run.Options.MaxAgents)
	case kind == "max-depth":
		c.flags = fmt.Sprint(" --max-depth ", 2*run.Options.MaxDepth)
	case kind == "budget":
		c.flags = " --budget 0"
	// A resume would continue the same conversation and fail again.
	case isFault && f.Kind == runner.FaultOfConversation && a.Session != nil:
		c = Advice{FirstStep: "reset the conversation in a state before {state}", NeedsFileChange: true}
		if by, from, _ := strings.Cut(a.By, " "); by == "agent" || by == "script" {
			c.RerunFrom = from
		}
	case isFault:
		c = Advice{FirstStep: f.Remedy, NeedsFileChange: f.NeedsFileChange}
	case state.IsExhausted(fault), slices.Contains([]state.Class{state.Transient, state.TimedOut, state.Service}, state.Class(a.Failure.Class)):
	default:
		c = Advice{FirstStep: fixTheCause, NeedsFileChange: filepath.Ext(a.State) != ".md"}
	}
	if rules := rulesForRefusals(a); len(rules) > 0 && (c.FirstStep == fixTheCause || state.IsExhausted(fault)) {
		c = Advice{FirstStep: "allow what was refused, if the task needs it (this rule was not tried)", flags: " --allowed-tools " + shellQuoted(strings.Join(slices.Concat(run.Options.AllowedTools, rules), ","))}
	}
	c.FirstStep = strings.ReplaceAll(c.FirstStep, "{state}", name(a.State))
	return c
}

// rulesForRefusals returns up to five rules that may allow the tool calls that were denied to an
// agent.
func rulesForRefusals(a *state.Agent) (rules []string) {
	if a.Exec == nil {
		return nil
	}
	for _, r := range a.Exec.Refusals {
		for _, rule := range r.Allow {
			if len(rules) < 5 && !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// AdviceForJob returns the advice for a run that is driven by a CI job.
func AdviceForJob(run *state.Run) Advice {
	c := adviceForCLI(run)
	if flag, value, isFlag := strings.Cut(strings.TrimPrefix(c.flags, " --"), " "); isFlag {
		input := flag + ": " + value
		if strings.HasPrefix(flag, "max-") {
			input = "args: --" + flag + "=" + value
		}
		c.FirstStep, c.NeedsFileChange = "set `"+input+"`", true
	}
	// Leave out the general step. Also leave out the step for a missing or invalid API key: the
	// action's own message names the input for the key.
	if f, _ := runner.FindFault("authentication"); c.FirstStep == fixTheCause || c.FirstStep == f.Remedy {
		c.FirstStep = ""
	}
	return c
}

// ResumeHint returns a line with the command that continues a stopped run. If agents wait, the line
// may contain several commands. Apart from names, paths and the choices of questions, it contains
// only raymond's own words. It is empty if the run has completed. stateDir is the folder of the state
// file. If stateDir is empty, the default folder is used.
func ResumeHint(run *state.Run, stateDir string) string {
	id := plain(run.WorkflowID)
	if stateDir != "" && stateDir != state.DefaultDir {
		id += " --state-dir " + shellQuoted(stateDir)
	}
	p, o, resume := &run.Progress, &run.Options, "raymond resume "+id
	switch p.Status {
	case state.Completed:
		return ""
	case state.OverBudget:
		return "to resume with a larger budget: " + resume + " --budget " + (run.Spent().USD + max(o.BudgetUSD, state.Dollar)).String()
	case state.OverIterations:
		return "to resume with a larger limit: " + resume + " --max-iterations " + fmt.Sprint(run.OwnExecutions()+max(o.MaxIterations, 1))
	case state.Suspended:
		waits := WaitsOf(run)
		if len(waits) == 0 && !p.Until.IsZero() {
			return "to resume from " + FormatMinute(p.Until) + " on: " + resume
		}
		return waitHint(resume, waits)
	case state.Failed:
		c := adviceForCLI(run)
		command := resume + c.flags
		if c.RerunFrom != "" {
			command = "raymond rerun " + id + " --from " + shellQuoted(c.RerunFrom)
		}
		if c.FirstStep == "" {
			return "to try again: " + command
		}
		return c.FirstStep + ", then: " + command
	}
	return "to resume: " + resume
}

package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// WaitFor names what an agent waits for.
type WaitFor string

// What an agent may wait for.
const (
	ForTime   WaitFor = "time"   // until Waits.Until
	ForAnswer WaitFor = "answer" // of somebody to Waits.Question, or until Waits.Until
	ForAgents WaitFor = "agents" // that it has forked, and theirs
	ForJob    WaitFor = "job"    // Waits.Job, which runs its state
)

// WaitCondition is what an agent waits for before its state starts.
type WaitCondition struct {
	For   WaitFor   `json:"for" is:"wait"`
	Since time.Time `json:"since" is:"set"`
	// Until is when it no longer waits: for a time, and for an answer with a timeout.
	Until    time.Time `json:"until,omitzero"`
	Job      string    `json:"job,omitempty" is:"job?"`
	Question *Question `json:"question,omitempty"`
	// Error is why the agent waits for the job again: it failed in a part of a matrix.
	Error string `json:"error,omitempty"`
}

// Question is one that people are asked.
type Question struct {
	Number  int      `json:"number" is:"positive"` // within the run, from 1, never used again
	Text    Text     `json:"text"`
	Choices []string `json:"choices,omitempty"` // what may be answered; nil for anything
	// TimeoutNext is the state that comes when nobody has answered until Waits.Until.
	TimeoutNext string   `json:"timeout_next,omitempty" is:"file?"`
	Where       int      `json:"where,omitempty"` // number of the issue or pull request; 0 for that of the event
	From        []string `json:"from,omitempty"`  // logins that may answer; nil for all who may start the run
	Untrusted   bool     `json:"untrusted,omitempty"`
	// Token is in the comment that asks the question: 32 random hex digits. Comment is
	// that comment, 0 while there is none.
	Token   string `json:"token,omitempty" is:"token?"`
	Comment int64  `json:"comment,omitempty"`
}

// Continuation says whether the step that a deadline has ended starts its workflow again,
// and if not, why.
type Continuation string

// Whether a run continues by itself.
const (
	Continues  Continuation = "dispatch"    // the step starts its workflow again
	NoProgress Continuation = "no_progress" // this part of the run has brought nothing
	TooOften   Continuation = "too_often"   // it has been continued so for as often as it may
)

// LastConversation is where the conversation of main has ended; empty before it has.
type LastConversation struct {
	Session *Session `json:"session,omitempty"`
	Dir     string   `json:"dir,omitempty" is:"path?"` // absolute; "" for the orchestrator's
	Model   string   `json:"model,omitempty"`
}

// Part is a share of the agents that wait for a job: one job of a matrix runs them.
type Part struct {
	Name   string     `json:"name"` // 8 hex digits, from the agents and their numbers
	Job    string     `json:"job"`
	Agents []Handover `json:"agents"`
	// Earlier says that no entry of the present matrix is this part: a job of an earlier
	// one may still run it, or run it again. Running says that one may be running it now,
	// so that nobody else takes its agents.
	Earlier bool `json:"earlier,omitempty"`
	Running bool `json:"running,omitempty"`
	// Start is how far the run had come when the part began; set in the part's own run.
	Start *PartStart `json:"began,omitempty"`
}

// Handover is an agent that waits for a job.
type Handover struct {
	Agent  string `json:"agent" is:"agent"`
	Number int    `json:"number"` // Agent.Handed of it
}

// WaitingAgent is an agent that waits, as it is shown to people and programs.
type WaitingAgent struct {
	Agent string  `json:"agent"`
	For   WaitFor `json:"for"`
	// Until is RFC 3339 in UTC; "" where no time is set.
	Until    string `json:"until,omitempty"`
	Job      string `json:"job,omitempty"`
	Question string `json:"question,omitempty"` // at most 1,000 characters
	Number   int    `json:"number,omitempty"`   // of the question
	Where    int    `json:"where,omitempty"`    // number of the issue or pull request that the question names
}

// Answer is what somebody answers to a question.
type Answer struct {
	Text string
	By   string // a login, or "cli"
}

// AgentWaits says that an agent waits before its state starts.
type AgentWaits struct {
	For         WaitFor  `json:"for"`                    // "time", "answer", "agents" or "job"
	Until       string   `json:"until,omitempty"`        // when it no longer waits, RFC 3339 in UTC; absent where no time is set
	Job         string   `json:"job,omitempty"`          // that it waits for
	Question    string   `json:"question,omitempty"`     // redacted, at most 1,000 characters
	Number      int      `json:"number,omitempty"`       // of the question
	Where       int      `json:"where,omitempty"`        // number of the issue or pull request that the question names
	Choices     []string `json:"choices,omitempty"`      // what may be answered; absent for anything
	TimeoutNext string   `json:"timeout_next,omitempty"` // the state that comes when nobody answers in time
	From        []string `json:"from,omitempty"`         // logins that may answer; absent for all who may start the run
}

// AgentGoesOn says that an agent no longer waits.
type AgentGoesOn struct {
	By string `json:"by"` // a login, "cli", "time", "timeout", "agents", or a job's name
}

// Type implements Body.
func (*AgentWaits) Type() string { return "agent_waits" }

// Type implements Body.
func (*AgentGoesOn) Type() string { return "agent_goes_on" }

// isOver reports whether the time until which the agent waits has come.
func (w *WaitCondition) isOver(now time.Time) bool { return !w.Until.IsZero() && !w.Until.After(now) }

// maxShown is how much of a question is shown, in characters.
const maxShown = 1000

// event tells that the agent waits.
func (w *WaitCondition) event() *AgentWaits {
	e := &AgentWaits{For: w.For, Job: w.Job}
	if !w.Until.IsZero() {
		e.Until = w.Until.UTC().Format(time.RFC3339)
	}
	if q := w.Question; q != nil {
		text := []rune(strings.ToValidUTF8(string(q.Text), "\uFFFD"))
		e.Question, e.Number, e.Where = string(text[:min(len(text), maxShown)]), q.Number, q.Where
		e.Choices, e.TimeoutNext, e.From = q.Choices, q.TimeoutNext, q.From
	}
	return e
}

// words says what the agent waits for, as in "waits for an answer to question 1".
func (w *WaitCondition) words() string {
	switch w.For {
	case ForTime:
		return "waits until " + w.Until.UTC().Format("2006-01-02 15:04:05 UTC")
	case ForAnswer:
		return fmt.Sprintf("waits for an answer to question %d", w.Question.Number)
	case ForJob:
		return "waits for the job " + w.Job
	}
	return "waits for the agents that it forked"
}

// WaitingAgents lists the agents that wait, in order of creation; never nil.
func (r *Run) WaitingAgents() []WaitingAgent {
	list := []WaitingAgent{}
	for _, a := range r.Agents {
		if a.Waits != nil {
			w := a.Waits.event()
			list = append(list, WaitingAgent{Agent: a.ID, For: w.For, Until: w.Until, Job: w.Job, Question: w.Question, Number: w.Number, Where: w.Where})
		}
	}
	return list
}

// OpenQuestions returns the agents that wait for an answer, in the order of the questions'
// numbers. They must not be changed.
func (r *Run) OpenQuestions() []*Agent {
	var open []*Agent
	for _, a := range r.Agents {
		if a.asks() != nil {
			open = append(open, a)
		}
	}
	slices.SortFunc(open, func(a, b *Agent) int { return cmp.Compare(a.asks().Number, b.asks().Number) })
	return open
}

// NextJobs names the jobs that agents wait for, sorted; never nil.
func (r *Run) NextJobs() []string {
	jobs := map[string]bool{}
	for _, a := range r.Agents {
		if a.Waits != nil && a.Waits.For == ForJob {
			jobs[a.Waits.Job] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(jobs))...)
}

// check checks that what the agent waits for fits together; w may be nil.
func (w *WaitCondition) check(c *checker, at string) {
	if w == nil {
		return
	}
	c.want(w.For != ForTime || !w.Until.IsZero(), at+".until", "is missing")
	c.want((w.For == ForJob) == (w.Job != ""), at+".job", "does not fit a wait for %q", w.For)
	c.want((w.For == ForAnswer) == (w.Question != nil), at+".question", "does not fit a wait for %q", w.For)
	if q := w.Question; q != nil {
		c.want(w.Until.IsZero() == (q.TimeoutNext == ""), at+".question.timeout_next", "does not fit the time until which it waits")
	}
}

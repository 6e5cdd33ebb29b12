package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// WaitFor is the kind of a wait.
type WaitFor string

// The kinds of waits.
const (
	ForTime   WaitFor = "time"   // for the time WaitCondition.Until
	ForAnswer WaitFor = "answer" // for an answer to WaitCondition.Question, at most until WaitCondition.Until
	ForAgents WaitFor = "agents" // for all agents that the agent forked, and for their descendants
	ForJob    WaitFor = "job"    // for WaitCondition.Job, the job that runs the agent's state
)

// WaitCondition is the condition for which an agent waits before it continues.
type WaitCondition struct {
	For   WaitFor   `json:"for" is:"wait"`
	Since time.Time `json:"since" is:"set"`
	// Until is the time at which the wait ends. It is set if the agent waits for a time, or for an
	// answer with a timeout.
	Until    time.Time `json:"until,omitzero"`
	Job      string    `json:"job,omitempty" is:"job?"`
	Question *Question `json:"question,omitempty"`
	// Error is the reason for the failure if the agent failed in a part of a matrix and therefore
	// waits for the job again.
	Error string `json:"error,omitempty"`
}

// Question is a question that an agent asks users.
type Question struct {
	Number  int      `json:"number" is:"positive"` // number of the question in the run, from 1; numbers are not reused
	Text    Text     `json:"text"`
	Choices []string `json:"choices,omitempty"` // allowed answers; if nil, any text is an answer
	// TimeoutNext is the agent's next state if the question times out at WaitCondition.Until. It is
	// empty if the question has no timeout.
	TimeoutNext string   `json:"timeout_next,omitempty" is:"file?"`
	Where       int      `json:"where,omitempty"`     // number of the issue or pull request in which to ask; 0 means the issue or pull request of the run's event
	From        []string `json:"from,omitempty"`      // logins of users who may answer; if nil, every user who may start the run
	Untrusted   bool     `json:"untrusted,omitempty"` // true if From may include a stranger, for example the author of the issue
	// Token is 32 random hex digits in the comment that asks the question. Comment is the id of that
	// comment, or 0 until the comment is posted.
	Token   string `json:"token,omitempty" is:"token?"`
	Comment int64  `json:"comment,omitempty"`
}

// Continuation is the decision whether the action starts its workflow again after a deadline. It is empty if
// no deadline ended the segment, or if the action must never do so.
type Continuation string

// The values of Continuation.
const (
	Continues  Continuation = "dispatch"    // the action starts its workflow again
	NoProgress Continuation = "no_progress" // not started again, because no agent made progress in this segment of the run
	TooOften   Continuation = "too_often"   // not started again, because the action has started it too often in a row
)

// LastConversation is the conversation and the directory with which the agent main ended. It is
// zero until main has ended.
type LastConversation struct {
	Session *Session `json:"session,omitempty"`
	Dir     string   `json:"dir,omitempty" is:"path?"` // absolute path; "" means Run.Dir
	Model   string   `json:"model,omitempty"`
}

// Part is a group of agents that wait for a job. A single job of a matrix runs them.
type Part struct {
	Name   string     `json:"name"` // 8 hex digits, derived from the agents and their numbers
	Job    string     `json:"job"`
	Agents []Handover `json:"agents"`
	// Earlier is set if the part belongs to an earlier matrix. The job of that matrix may still be
	// running, or may be run again. Running is set if a job may be running the part now, so that no
	// other job may run its agents.
	Earlier bool `json:"earlier,omitempty"`
	Running bool `json:"running,omitempty"`
	// Start is the run's progress when the part began. It is set only in the part's own run.
	Start *PartStart `json:"began,omitempty"`
}

// Handover identifies one handover of an agent to a job.
type Handover struct {
	Agent  string `json:"agent" is:"agent"`
	Number int    `json:"number"` // the agent's Agent.Handovers at that time
}

// WaitingAgent describes an agent that waits, for users and for JSON output.
type WaitingAgent struct {
	Agent string  `json:"agent"`
	For   WaitFor `json:"for"`
	// Until is the time at which the wait ends, as RFC 3339 in UTC. It is "" if no time is set.
	Until    string `json:"until,omitempty"`
	Job      string `json:"job,omitempty"`
	Question string `json:"question,omitempty"` // at most 1,000 characters
	Number   int    `json:"number,omitempty"`   // number of the question
	Where    int    `json:"where,omitempty"`    // issue or pull request that the question names
}

// Answer is a user's answer to a question.
type Answer struct {
	Text string
	By   string // login of the user, or "cli"
}

// AgentWaits is emitted when an agent begins to wait.
type AgentWaits struct {
	For         WaitFor  `json:"for"`                    // "time", "answer", "agents" or "job"
	Until       string   `json:"until,omitempty"`        // when the wait ends, RFC 3339 in UTC; absent if no time is set
	Job         string   `json:"job,omitempty"`          // the job for which it waits
	Question    string   `json:"question,omitempty"`     // redacted, at most 1,000 characters
	Number      int      `json:"number,omitempty"`       // number of the question
	Where       int      `json:"where,omitempty"`        // issue or pull request that the question names
	Choices     []string `json:"choices,omitempty"`      // allowed answers; absent if any text is an answer
	TimeoutNext string   `json:"timeout_next,omitempty"` // the next state if the question times out
	From        []string `json:"from,omitempty"`         // logins of users who may answer; absent if every user who may start the run may answer
}

// AgentGoesOn is emitted when an agent's wait ends.
type AgentGoesOn struct {
	By string `json:"by"` // what ended the wait: a login, "cli", "time", "timeout", "agents", or the name of a job
}

// Type implements Body.
func (*AgentWaits) Type() string { return "agent_waits" }

// Type implements Body.
func (*AgentGoesOn) Type() string { return "agent_goes_on" }

// isOver reports whether the wait ends at a certain time and that time has been reached.
func (w *WaitCondition) isOver(now time.Time) bool { return !w.Until.IsZero() && !w.Until.After(now) }

// maxShown is the maximum number of a question's characters that events and lists show.
const maxShown = 1000

// event returns the event AgentWaits that describes the wait.
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

// Reason describes what the agent waits for, for example "for an answer to question 1".
func (w *AgentWaits) Reason() string {
	switch w.For {
	case ForTime:
		until, err := time.Parse(time.RFC3339, w.Until)
		if err != nil {
			return "until a time"
		}
		return "until " + until.UTC().Format("2006-01-02 15:04:05 UTC")
	case ForAnswer:
		return fmt.Sprintf("for an answer to question %d", w.Number)
	case ForJob:
		return "for the job " + w.Job
	}
	return "for the agents that it forked"
}

// WaitingAgents returns descriptions of the agents that wait, in order of creation. The result is
// never nil.
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

// OpenQuestions returns the agents that wait for an answer, ordered by the number of their question. The
// caller must not change them.
func (r *Run) OpenQuestions() []*Agent {
	var open []*Agent
	for _, a := range r.Agents {
		if a.openQuestion() != nil {
			open = append(open, a)
		}
	}
	slices.SortFunc(open, func(a, b *Agent) int { return cmp.Compare(a.openQuestion().Number, b.openQuestion().Number) })
	return open
}

// NextJobs returns the sorted names of the jobs for which agents wait. The result is never nil.
func (r *Run) NextJobs() []string {
	jobs := map[string]bool{}
	for _, a := range r.Agents {
		if a.Waits != nil && a.Waits.For == ForJob {
			jobs[a.Waits.Job] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(jobs))...)
}

// beginWait makes an agent wait for the condition what, and emits AgentWaits.
func (r *recorder) beginWait(a *Agent, what WaitCondition) {
	what.Since = inUTC(r.now)
	a.Status, a.Waits = Waiting, &what
	r.emit(a, what.event())
}

// endWait ends the agent's wait, and emits AgentGoesOn. by names the cause.
func (r *recorder) endWait(a *Agent, by string) {
	a.Status, a.Waits = Ready, nil
	r.emit(a, &AgentGoesOn{By: by})
}

// timeOut ends the wait for an answer because of its timeout, and moves the agent to the state that the
// question names for this case.
func (r *recorder) timeOut(a *Agent) {
	a.addVisits(-1)
	a.enter(a.Waits.Question.TimeoutNext, "")
	r.endWait(a, timedOut)
}

// inUTC returns a time as it is read back from a file: without a monotonic clock reading.
func inUTC(t time.Time) time.Time { return t.UTC().Round(0) }

// limitWait shortens the agent's wait if it would take longer than intended because the clock was set
// back.
func (d *draft) limitWait(a *Agent) {
	what := *a.Waits
	if whole := what.Until.Sub(what.Since); !what.Until.IsZero() && what.Until.After(d.now.Add(whole)) {
		what.Since, what.Until = inUTC(d.now), inUTC(d.now.Add(whole))
		d.edit(a.ID).Waits = &what
	}
}

// copyQuestion replaces the agent's open question by a copy, so that it can be changed, and returns the
// copy.
func (a *Agent) copyQuestion() *Question {
	what, q := *a.Waits, *a.Waits.Question
	what.Question, a.Waits = &q, &what
	return &q
}

// openQuestion returns the question for whose answer the agent waits, or nil.
func (a *Agent) openQuestion() *Question {
	if a.Status != Waiting || a.Waits == nil || a.Waits.For != ForAnswer {
		return nil
	}
	return a.Waits.Question
}

// MatchAnswer returns the answer that text gives to the question. If the question has choices, the answer
// is the choice that equals text, ignoring case and surrounding spaces. If no choice equals text,
// MatchAnswer returns false. Without choices, every text is an answer and is returned unchanged.
func (q *Question) MatchAnswer(text string) (string, bool) {
	if len(q.Choices) == 0 {
		return text, true
	}
	for _, c := range q.Choices {
		if strings.EqualFold(strings.TrimSpace(c), strings.TrimSpace(text)) {
			return c, true
		}
	}
	return "", false
}

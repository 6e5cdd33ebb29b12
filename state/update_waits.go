package state

import (
	"slices"
	"time"
)

// Here describes the process that drives a run: which agents and jobs it runs, and how it gets answers.
type Here struct {
	Jobs []string // jobs whose states this process runs; nil means all jobs
	// JobOf returns the name of the job that runs a state. It may be nil if Jobs is nil.
	JobOf func(state string) string
	// Part lists the agents of a part of a matrix. Only the waits of these agents, and of agents that
	// they fork, are ended. If Part is nil, the process drives the whole run.
	Part []string
	// NewToken returns 32 random hex digits. If it is nil, questions get no token.
	NewToken func() string
	// HasRead reports whether all answers that were given before a time have been read. A question does
	// not time out before HasRead is true for its timeout. HasRead is nil if answers can't arrive.
	HasRead func(time.Time) bool
	// HasJoin is set if the workflow has a state that may join, so that results must be kept.
	HasJoin bool
}

// runsState reports whether this process runs the state.
func (h Here) runsState(state string) bool {
	return h.Jobs == nil || h.JobOf == nil || slices.Contains(h.Jobs, h.JobOf(state))
}

// hasRead calls HasRead. It returns true if HasRead is nil.
func (h Here) hasRead(until time.Time) bool { return h.HasRead == nil || h.HasRead(until) }

// UpdateWaits begins and ends waits of agents that depend only on the run and the time of the step:
// waits for a time, for agents, and for a job, and timeouts of questions. It also restricts the step to
// h.Part. Call it after each decision in a step.
func (s *Step) UpdateWaits(h Here) {
	s.Restrict(h.Part)
	p := &s.delta.Progress
	p.HasJoin = p.HasJoin || h.HasJoin
	var joining []string
	for a := range s.members() {
		switch by := h.endOf(a, s.now, s.run.Parts); {
		case a.Status == Waiting && a.Waits.For == ForAgents:
			joining = append(joining, a.ID)
		case by != "" && a.openQuestion() != nil:
			s.timeOut(s.edit(a.ID))
		case by != "":
			s.endWait(s.edit(a.ID), by)
		case h.NewToken != nil && a.openQuestion() != nil && a.openQuestion().Token == "":
			s.edit(a.ID).copyQuestion().Token = h.NewToken()
		}
		s.waitForJob(a.ID, h)
	}
	results := s.completeJoins(joining)
	for _, id := range joining {
		if list, ok := results[id]; ok {
			a := s.edit(id)
			s.deliver(a, list)
			s.endWait(a, "agents")
			s.waitForJob(id, h)
		}
	}
}

// timedOut is the cause of the end of a wait for an answer whose time is over.
const timedOut = "timeout"

// endOf returns what ends the agent's wait now: "time", timedOut, or the job that this process runs. It
// returns "" if the agent does not wait, or continues to wait. parts are the parts of its run.
func (h Here) endOf(a *Agent, now time.Time, parts Parts) string {
	switch w := a.Waits; {
	case a.Status != Waiting:
	case w.For == ForTime && w.isOver(now):
		return "time"
	case w.For == ForAnswer && w.isOver(now) && h.hasRead(w.Until):
		return timedOut
	case w.For == ForJob && h.runsState(a.State) && !parts.mayBeRunning(a.ID):
		return w.Job
	}
	return ""
}

// waitForJob makes a ready agent wait for the job that runs its state, unless this process runs that job.
// If the agent is in a state execution, the job continues the execution.
func (d *draft) waitForJob(id string, h Here) {
	if a, ok := d.Agent(id); !ok || a.Status != Ready || h.runsState(a.State) {
		return
	}
	a := d.edit(id)
	a.Handovers++
	d.beginWait(a, WaitCondition{For: ForJob, Job: h.JobOf(a.State)})
}

// Answer ends the agent's wait for an answer and passes the answer to the next state. It does nothing
// if the question with this number is not open.
func (s *Step) Answer(agent string, number int, a Answer) {
	if s.question(agent, number) != nil {
		to := s.edit(agent)
		s.endWait(to, a.By)
		to.Payload, to.By = Text(a.Text), "person "+a.By
	}
}

// TimeOut ends the agent's wait for an answer as if its timeout had passed. It does nothing if the
// question with this number is not open or has no timeout.
func (s *Step) TimeOut(agent string, number int) {
	if q := s.question(agent, number); q != nil && q.TimeoutNext != "" {
		s.timeOut(s.edit(agent))
	}
}

// RecordComment stores the id of the comment that asks a question. It does nothing if the question with
// this number is not open.
func (s *Step) RecordComment(agent string, number int, comment int64) {
	if s.question(agent, number) != nil {
		s.edit(agent).copyQuestion().Comment = comment
	}
}

// question returns the agent's open question with the given number. It returns nil if there is none, or
// if the step may not change the agent.
func (d *draft) question(agent string, number int) *Question {
	a, ok := d.Agent(agent)
	if !ok || !d.group.has(a) {
		return nil
	}
	if q := a.openQuestion(); q != nil && q.Number == number {
		return q
	}
	return nil
}

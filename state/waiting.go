package state

import (
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// waiting begins and ends the waits of agents one by one.
type waiting struct {
	draft   *draft
	members members
}

func (w waiting) joins() joins {
	return joins{w.draft, w.members, &family{draft: w.draft}}
}

// begin makes an agent wait after a move that asks for it.
func (w waiting) begin(a *Agent, m protocol.Move) {
	switch {
	case m.Verb == protocol.Join:
		if !w.joins().atOnce(a) {
			w.await(a, Waits{For: ForAgents})
		}
	case m.Verb == protocol.Ask:
		w.ask(a, m.Question)
	case m.After > 0:
		w.await(a, Waits{For: ForTime, Until: w.later(m.After)})
	}
}

// ask makes an agent wait for the answer to a question, under the next number.
func (w waiting) ask(a *Agent, q *protocol.Question) {
	p := &w.draft.delta.Progress
	p.Questions++
	what := Waits{For: ForAnswer, Question: &Question{
		Number: p.Questions, Text: Text(q.Text), Choices: q.Choices, TimeoutNext: q.TimeoutNext,
		Where: q.Where, From: q.From, Untrusted: q.Untrusted,
	}}
	if q.Timeout > 0 {
		what.Until = w.later(q.Timeout)
	}
	w.await(a, what)
}

// later returns the time a while after that of the step.
func (w waiting) later(d time.Duration) time.Time { return w.draft.now.Add(d).UTC().Round(0) }

// await makes an agent wait, and tells it.
func (w waiting) await(a *Agent, what Waits) {
	what.Since = w.later(0)
	a.Status, a.Waits = Waiting, &what
	w.draft.tell(a, what.event())
}

// proceed ends the wait of an agent, and tells what did.
func (w waiting) proceed(id, by string) *Agent {
	a := w.draft.edit(id)
	a.Status, a.Waits = Ready, nil
	w.draft.tell(a, &AgentGoesOn{By: by})
	return a
}

// settle ends the wait of an agent if its time has come, or if its job is here.
func (w waiting) settle(a *Agent, h Here) {
	switch what := a.Waits; what.For {
	case ForTime:
		if what.isOver(w.draft.now) {
			w.handOver(w.proceed(a.ID, "time"), h)
		}
	case ForAnswer:
		if what.isOver(w.draft.now) && h.hasRead(what.Until) {
			w.handOver(w.timeOut(a.ID, what.Question), h)
		} else if what.Question.Token == "" && h.NewToken != nil {
			w.editQuestion(a.ID).Token = h.NewToken()
		}
	case ForJob:
		if h.runs(a.State) && !w.draft.run.Parts.hold(a.ID) {
			w.proceed(a.ID, what.Job)
		}
	}
}

// timeOut has an agent continue without an answer to its question.
func (w waiting) timeOut(id string, q *Question) *Agent {
	a := w.draft.edit(id)
	a.leave()
	a.enter(q.TimeoutNext, "")
	return w.proceed(id, "timeout")
}

// handOver makes an agent that could start wait for the job that runs its state, when
// that job is not here. An execution under way waits with it.
func (w waiting) handOver(a *Agent, h Here) {
	if a.Status != Ready || h.runs(a.State) {
		return
	}
	a = w.draft.edit(a.ID)
	a.Handed++
	w.await(a, Waits{For: ForJob, Job: h.JobOf(a.State)})
}

// bound keeps a changed clock from making a wait longer than it was meant to be.
func (w waiting) bound(a *Agent) {
	what := *a.Waits
	if whole := what.Until.Sub(what.Since); !what.Until.IsZero() && what.Until.After(w.draft.now.Add(whole)) {
		what.Since, what.Until = w.later(0), w.later(whole)
		w.draft.edit(a.ID).Waits = &what
	}
}

// mayEnd reports whether an agent waits for something that a resume of the run may bring:
// anything but other agents.
func (w waiting) mayEnd() bool {
	return count(w.members.all(), func(a *Agent) bool { return a.Status == Waiting && a.Waits.For != ForAgents }) > 0
}

// question returns the question of a number that is open for an agent; nil when it isn't.
func (w waiting) question(agent string, number int) *Question {
	a, ok := w.draft.agent(agent)
	if !ok || !w.members.has(a) {
		return nil
	}
	if q := a.asks(); q != nil && q.Number == number {
		return q
	}
	return nil
}

// editQuestion returns a copy of an agent's open question that this step may change.
func (w waiting) editQuestion(agent string) *Question {
	a := w.draft.edit(agent)
	what, q := *a.Waits, *a.Waits.Question
	what.Question, a.Waits = &q, &what
	return &q
}

// asks returns the question that the agent waits for an answer to; nil for none.
func (a *Agent) asks() *Question {
	if a.Status != Waiting || a.Waits == nil || a.Waits.For != ForAnswer {
		return nil
	}
	return a.Waits.Question
}

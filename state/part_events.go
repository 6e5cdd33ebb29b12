package state

import (
	"fmt"
	"slices"
)

// checkEvents returns a *FileError unless the events can be those of the part.
func (o *partMerge) checkEvents(events []Event) error {
	c := &checker{}
	last := o.began.Events
	for i, e := range events {
		at := fmt.Sprintf("events[%d]", i)
		c.want(e.Seq > last, at+".seq", "is %d, want more than %d", e.Seq, last)
		c.want(e.Agent == "" || o.part.Has(e.Agent), at+".agent", "%q is not of this part", e.Agent)
		last = e.Seq
	}
	return c.result()
}

// events returns the part's events with the numbers that they have in the run.
// Those of agents that are not taken are left out.
func (o *partMerge) events(own []Event) []Event {
	var out []Event
	for _, e := range o.withLast(own) {
		if e.Agent != "" && !o.takes(e.Agent, o.began.Created+1) {
			continue
		}
		e.Exec = after(e.Exec, o.began.Iterations, o.by.iterations)
		if b, ok := e.Body.(*AgentWaits); ok {
			c := *b
			c.Number = after(b.Number, o.began.Questions, o.by.questions)
			e.Body = &c
		}
		out = append(out, e)
	}
	return out
}

// withLast adds the events of the part's last save, which its log may lack.
func (o *partMerge) withLast(own []Event) []Event {
	last := o.began.Events
	if len(own) > 0 {
		last = own[len(own)-1].Seq
	}
	own = slices.Clone(own)
	for _, e := range o.from.Events {
		if e.Seq > last && (e.Agent == "" || o.part.Has(e.Agent)) {
			own, last = append(own, e), e.Seq
		}
	}
	return own
}

// mergeEvents puts logs together by time, each in its own order, and numbers them anew.
func mergeEvents(last int, logs [][]Event) []Event {
	var out []Event
	for {
		next := -1
		for i, log := range logs {
			if len(log) > 0 && (next < 0 || log[0].Time.Before(logs[next][0].Time)) {
				next = i
			}
		}
		if next < 0 {
			return out
		}
		e := logs[next][0]
		last++
		e.Seq = last
		out, logs[next] = append(out, e), logs[next][1:]
	}
}

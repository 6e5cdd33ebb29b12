package state

import (
	"fmt"
	"slices"
)

// checkEvents returns a *FileError if the events can't be events of the part.
func (o *partMerge) checkEvents(events []Event) error {
	c := &checker{}
	last := o.start.Events
	for i, e := range events {
		at := fmt.Sprintf("events[%d]", i)
		c.want(e.Seq > last, at+".seq", "is %d, want more than %d", e.Seq, last)
		c.want(e.Agent == "" || o.part.MayContain(e.Agent), at+".agent", "%q does not belong to this part", e.Agent)
		last = e.Seq
	}
	return c.result()
}

// events returns the part's events, with the numbers that they get in the merged run. own is the part's
// event log. events adds the events of the last saved step, which that log may lack, and leaves out
// events about agents that are not taken from the part.
func (o *partMerge) events(own []Event) []Event {
	var out []Event
	last := o.start.Events
	for _, e := range slices.Concat(own, o.from.Events) {
		if e.Seq <= last || e.Agent != "" && !o.takes(e.Agent, o.start.Created+1) {
			continue
		}
		last = e.Seq
		e.Exec = renumber(e.Exec, o.start.Iterations, o.merged.Iterations)
		if b, ok := e.Body.(*AgentWaits); ok {
			b = new(*b)
			b.Number = renumber(b.Number, o.start.Questions, o.merged.Questions)
			e.Body = b
		}
		out = append(out, e)
	}
	return out
}

// mergeEvents merges event logs by time. It keeps the order within each log. The first event gets the
// number last+1.
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

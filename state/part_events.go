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
		c.want(e.Agent == "" || o.part.MayContain(e.Agent), at+".agent", "%q is not of this part", e.Agent)
		last = e.Seq
	}
	return c.result()
}

// events returns the part's events with the numbers that they have in the run, with those of the part's last
// save, which its log may lack. Those of agents that are not taken are left out.
func (o *partMerge) events(own []Event) []Event {
	var out []Event
	last := o.began.Events
	for _, e := range slices.Concat(own, o.from.Events) {
		if e.Seq <= last || e.Agent != "" && !o.takes(e.Agent, o.began.Created+1) {
			continue
		}
		last = e.Seq
		e.Exec = after(e.Exec, o.began.Iterations, o.at.Iterations)
		if b, ok := e.Body.(*AgentWaits); ok {
			b = new(*b)
			b.Number = after(b.Number, o.began.Questions, o.at.Questions)
			e.Body = b
		}
		out = append(out, e)
	}
	return out
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

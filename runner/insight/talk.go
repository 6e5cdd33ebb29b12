package insight

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// The limits of what is shown of conversations, in bytes as they take them where they are
// shown.
const (
	mostOfExec  = 512 << 10
	leastOfExec = 2 << 10
	mostOfTool  = 16 << 10 // of what a tool was given, and of what it brought
	perMessage  = 300      // for what stands around its text
	// unsureEnd is dropped from a text of which the reader had left out the end: the
	// beginning of a secret may stand there, which nobody can recognize.
	unsureEnd = 8 << 10
)

// talk is what is kept of the messages of one execution: the first and the last.
type talk struct {
	limit      int
	head, tail []runner.Message
	inHead     int // what the messages of the head take
	inTail     []int
	sum        int // of inTail
	left       int // messages left out between head and tail
}

// add takes the next message. Its texts are shortened to what there is room for.
func (t *talk) add(m runner.Message) {
	most := max(leastOfExec/4, t.limit/4)
	n := perMessage
	for _, text := range []*string{&m.Text, &m.Input} {
		room := most
		if m.From == runner.FromTool {
			room = min(room, mostOfTool)
		}
		var out int64
		*text, out = cut(*text, room)
		m.Cut += out
		n += cost(*text)
	}
	if len(t.tail) == 0 && (len(t.head) == 0 || t.inHead+n <= t.limit/4) {
		t.head, t.inHead = append(t.head, m), t.inHead+n
		return
	}
	t.tail, t.inTail, t.sum = append(t.tail, m), append(t.inTail, n), t.sum+n
	for t.sum > t.limit*3/4 && len(t.tail) > 1 {
		t.sum -= t.inTail[0]
		t.tail[0] = runner.Message{} // its texts are garbage from now on
		t.tail, t.inTail = t.tail[1:], t.inTail[1:]
		t.left++
	}
}

// giveTo hands the messages to their execution, before those of other conversations that were said
// later, and returns what they take.
func (t *talk) giveTo(x *report.Exec) int {
	all := slices.Concat(t.head, t.tail)
	for i := range all {
		m := &all[i]
		m.Refused = m.Refused || m.Failed && len(x.Refusals) > 0 && isReason(m.Text, x.Refusals)
	}
	at := len(x.Messages)
	if i := slices.IndexFunc(x.Messages, func(m runner.Message) bool { return m.Time.After(all[0].Time) }); i >= 0 && !all[0].Time.IsZero() {
		at = i
	}
	x.Messages, x.Output = slices.Insert(x.Messages, at, all...), nil
	if x.Gap != nil && x.Gap.After > at {
		x.Gap.After += len(all)
	}
	if t.left > 0 {
		if x.Gap == nil {
			x.Gap = &report.Gap{After: at + len(t.head)}
		}
		x.Gap.Messages += t.left
	}
	return t.inHead + t.sum
}

// isReason reports whether a text is why a use of a tool was refused: not all transcripts tell it
// from a use that failed.
func isReason(said string, refusals []state.Refusal) bool {
	said = text.Brief(text.Prefix(said, 4<<10), 1000)
	return slices.ContainsFunc(refusals, func(r state.Refusal) bool {
		return r.Reason != "" && strings.HasPrefix(said, strings.TrimSuffix(r.Reason, "…"))
	})
}

// listener reads the conversations of a run, those of the most interesting executions first.
type listener struct {
	source   Source
	execs    map[int]*report.Exec
	free     int // bytes beyond what every execution has
	missing  int // conversations without a transcript
	noReader int // conversations of agent CLIs whose transcripts can't be read
	cut      int // executions of which messages were left out or shortened
	problems []string
}

// gatherMessages adds the conversations to the executions, which may take pot bytes. The
// history knows where some are.
func gatherMessages(r *Report, s Source, p *past, pot int) {
	l := &listener{source: s, execs: map[int]*report.Exec{}, free: pot}
	rank := map[int]int{}
	for i, x := range byInterest(r.Executions) {
		l.execs[x.N], rank[x.N] = x, i
	}
	for i := range r.Executions {
		x := &r.Executions[i]
		p.begin(x.SessionID, begin{x.N, x.Started, unknown})
	}
	for _, c := range p.all {
		c.backend = cmp.Or(c.backend, s.Run.Options.BackendName()) // where there is no history
		for _, b := range c.begins {
			if x := l.execs[b.exec]; x != nil && c.Dir == "" {
				c.Dir = x.Cwd
			}
		}
	}
	p.all = slices.DeleteFunc(p.all, func(c *conversation) bool { return len(c.begins) == 0 })
	best := func(c *conversation) int {
		first := len(rank)
		for _, b := range c.begins {
			if at, ok := rank[b.exec]; ok {
				first = min(first, at)
			}
		}
		return first
	}
	slices.SortStableFunc(p.all, func(a, b *conversation) int { return cmp.Compare(best(a), best(b)) })
	for _, c := range p.all {
		l.free -= leastOfExec * len(c.begins)
	}
	for _, c := range p.all {
		l.read(c)
	}
	l.leaveOut(r)
}

// byInterest returns the executions, which are in the order of their numbers: those that failed
// first, then the newest.
func byInterest(execs []report.Exec) []*report.Exec {
	var failed, others []*report.Exec
	for i := len(execs) - 1; i >= 0; i-- {
		if x := &execs[i]; x.Status == report.Failed {
			failed = append(failed, x)
		} else {
			others = append(others, x)
		}
	}
	return slices.Concat(failed, others)
}

// read adds the messages of one conversation. Every execution has room for its first and its
// last messages; what is free beyond that goes to the conversations that are read first.
func (l *listener) read(c *conversation) {
	agent := l.source.Agents[c.backend]
	if agent == nil {
		l.noReader++
		return
	}
	talks := map[int]*talk{}
	limit := leastOfExec + max(0, min(mostOfExec, l.free))/max(1, len(c.begins))
	var order []int
	last := 0
	err := agent.Read(c.Conversation, 0, -1, func(m runner.Message) error {
		n := c.owner(m, last)
		last = n
		if l.execs[n] == nil {
			return nil
		}
		if talks[n] == nil {
			talks[n] = &talk{limit: limit}
			order = append(order, n)
		}
		talks[n].add(l.masked(m))
		return nil
	})
	for _, n := range order {
		t := talks[n]
		l.free -= max(0, t.giveTo(l.execs[n])-leastOfExec)
		if t.left > 0 {
			l.cut++
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.missing++
	case err != nil:
		l.problems = append(l.problems, l.source.Hide(fmt.Sprintf("The conversation %s can't be read: %v", c.ID, err)))
	}
}

// masked hides secrets in a message.
func (l *listener) masked(m runner.Message) runner.Message {
	for _, text := range []*string{&m.Text, &m.Input} {
		whole := len(*text)
		*text = l.source.Hide(*text)
		if m.Cut > 0 && whole > runner.MaxMessageText-4 && len(*text) > unsureEnd {
			m.Cut += unsureEnd
			*text = (*text)[:len(*text)-unsureEnd]
		}
	}
	m.Subagent = l.source.Hide(m.Subagent)
	return m
}

// leaveOut says what is not in the report.
func (l *listener) leaveOut(r *Report) {
	if l.cut > 0 {
		r.leaveOut("Of %s only the first and the last messages are here: all would be too much for one page.", state.Count(l.cut, "state execution"))
	}
	if l.missing > 0 {
		r.leaveOut("%s can't be shown: no transcript is on this machine.", state.Count(l.missing, "conversation"))
	}
	if l.noReader > 0 {
		r.leaveOut("%s can't be shown: they are of an agent CLI that is not known here.", state.Count(l.noReader, "conversation"))
	}
	if more := len(l.problems) - 10; more > 0 {
		l.problems = append(l.problems[:10], fmt.Sprintf("%d more conversations can't be read.", more))
	}
	r.LeftOut = append(r.LeftOut, l.problems...)
}

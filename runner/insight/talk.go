package insight

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/raymond-action/raymond-action/runner"
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
	seen       int // what all messages would take
}

// add takes the next message. Its texts are shortened to what there is room for.
func (t *talk) add(m runner.Message) {
	most := max(leastOfExec/4, t.limit/4)
	n := perMessage
	for _, text := range []*string{&m.Text, &m.Input} {
		t.seen += cost(*text)
		room := most
		if m.From == runner.FromTool {
			room = min(room, mostOfTool)
		}
		var out int64
		*text, out = cut(*text, room)
		m.Cut += out
		n += cost(*text)
	}
	t.seen += perMessage
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

// giveTo hands the messages to their execution and returns what they take.
func (t *talk) giveTo(x *Exec) int {
	before := len(x.Messages)
	x.Messages = append(append(x.Messages, t.head...), t.tail...)
	if t.left > 0 {
		after := before + len(t.head)
		if x.Gap == nil {
			x.Gap = &Gap{After: after}
		}
		x.Gap.Messages += t.left
	}
	if len(x.Messages) > 0 {
		x.Output = nil
	}
	return t.inHead + t.sum
}

// listener reads the conversations of a run, those of the most interesting executions first.
type listener struct {
	source   Source
	execs    map[int]*Exec
	shares   *shares
	missing  int // conversations without a transcript
	noReader int // conversations of agent CLIs whose transcripts can't be read
	cut      int // executions of which messages were left out or shortened
	problems []string
}

// gatherMessages adds the conversations to the executions, which may take pot bytes. Of some
// the history knows where they are.
func gatherMessages(r *Report, s Source, known *places, pot int) {
	p := placesOf(r, s, known)
	l := &listener{source: s, execs: map[int]*Exec{}}
	for i := range r.Executions {
		l.execs[r.Executions[i].N] = &r.Executions[i]
	}
	rank := map[int]int{}
	for i, x := range byInterest(r.Executions) {
		rank[x.N] = i
	}
	l.shares = newShares(p, s, pot)
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
		l.read(c)
	}
	r.LeftOut = append(r.LeftOut, l.leftOut()...)
}

// placesOf completes the conversations that the history knows by what events tell.
func placesOf(r *Report, s Source, p *places) *places {
	backends, execs := map[string]string{}, map[int]*Exec{}
	for name, agent := range s.Agents {
		backends[agent.Abilities().Title] = name
	}
	for i := range r.Executions {
		x := &r.Executions[i]
		execs[x.N] = x
		p.execution(x, backends)
	}
	for _, c := range p.all {
		if c.backend == "" { // it has not ended, and there is no history
			c.backend = s.Run.Options.BackendName()
		}
		for _, b := range c.begins {
			if x := execs[b.exec]; x != nil && c.Dir == "" {
				c.Dir = x.Cwd
			}
		}
	}
	p.all = slices.DeleteFunc(p.all, func(c *conversation) bool { return len(c.begins) == 0 })
	return p
}

// byInterest returns the executions, those that failed first, then the newest.
func byInterest(execs []Exec) []*Exec {
	all := make([]*Exec, 0, len(execs))
	for i := range execs {
		all = append(all, &execs[i])
	}
	slices.SortFunc(all, func(a, b *Exec) int {
		switch {
		case a.Status == Failed && b.Status != Failed:
			return -1
		case b.Status == Failed && a.Status != Failed:
			return 1
		}
		return cmp.Compare(b.N, a.N)
	})
	return all
}

// read adds the messages of one conversation.
func (l *listener) read(c *conversation) {
	agent := l.source.Agents[c.backend]
	if agent == nil {
		l.noReader++
		return
	}
	talks := map[int]*talk{}
	var order []int
	last := 0
	err := agent.Read(c.Conversation, 0, -1, func(m runner.Message) error {
		n := c.owner(m, last)
		last = n
		if l.execs[n] == nil {
			return nil
		}
		if talks[n] == nil {
			talks[n] = &talk{limit: l.shares.of(c)}
			order = append(order, n)
		}
		talks[n].add(l.masked(m))
		return nil
	})
	used, seen := 0, 0
	for _, n := range order {
		t := talks[n]
		used, seen = used+t.giveTo(l.execs[n]), seen+t.seen
		if t.left > 0 {
			l.cut++
		}
	}
	l.shares.spend(c, used, seen)
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
		if m.Cut > 0 && whole > runner.MostMessage-4 && len(*text) > unsureEnd {
			m.Cut += unsureEnd
			*text = (*text)[:len(*text)-unsureEnd]
		}
	}
	m.Subagent = l.source.Hide(m.Subagent)
	return m
}

// leftOut says what is not in the report, a line each.
func (l *listener) leftOut() []string {
	var lines []string
	if l.cut > 0 {
		lines = append(lines, "Of "+state.Count(l.cut, "state execution")+" only the first and the last messages are here: all would be too much for one page.")
	}
	if l.missing > 0 {
		lines = append(lines, state.Count(l.missing, "conversation")+" can't be shown: no transcript is on this machine.")
	}
	if l.noReader > 0 {
		lines = append(lines, state.Count(l.noReader, "conversation")+" can't be shown: they are of an agent CLI that is not known here.")
	}
	if more := len(l.problems) - 10; more > 0 {
		l.problems = append(l.problems[:10], fmt.Sprintf("%d more conversations can't be read.", more))
	}
	return append(lines, l.problems...)
}

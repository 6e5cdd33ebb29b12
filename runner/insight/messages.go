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

// The limits for messages, in escaped bytes.
const (
	maxMessagesPerExec = 512 << 10
	minMessagesPerExec = 2 << 10
	maxToolText        = 16 << 10 // of a tool's input, and of its output
	bytesPerMessage    = 300      // estimate for the markup around a message's text
	// unsafeTail is how many bytes are removed from the end of a text that the transcript reader
	// has truncated. The text may end with the first part of a secret, which can't be recognized.
	unsafeTail = 8 << 10
)

// messageBuffer collects the messages of one execution in one conversation. If there are too many,
// it keeps the first and the last ones.
type messageBuffer struct {
	limit      int
	head, tail []runner.Message
	inHead     int   // size of the messages in head
	inTail     []int // size of each message in tail
	sum        int   // sum of inTail
	dropped    int   // number of messages that were removed between head and tail
}

// add adds the next message, with its texts shortened. If the buffer becomes too large, add removes
// the oldest messages of the tail.
func (t *messageBuffer) add(m runner.Message) {
	most := max(minMessagesPerExec/4, t.limit/4)
	n := bytesPerMessage
	for _, text := range []*string{&m.Text, &m.Input} {
		room := most
		if m.From == runner.FromTool {
			room = min(room, maxToolText)
		}
		var out int64
		*text, out = cutMiddle(*text, room)
		m.Cut += out
		n += escapedSize(*text)
	}
	if len(t.tail) == 0 && (len(t.head) == 0 || t.inHead+n <= t.limit/4) {
		t.head, t.inHead = append(t.head, m), t.inHead+n
		return
	}
	t.tail, t.inTail, t.sum = append(t.tail, m), append(t.inTail, n), t.sum+n
	for t.sum > t.limit*3/4 && len(t.tail) > 1 {
		t.sum -= t.inTail[0]
		t.tail[0] = runner.Message{} // so that its texts can be freed
		t.tail, t.inTail = t.tail[1:], t.inTail[1:]
		t.dropped++
	}
}

// moveTo moves the collected messages into the execution x, and returns their size. The messages are
// inserted before the first message of x that is later than the first collected message.
func (t *messageBuffer) moveTo(x *report.Exec) int {
	all := slices.Concat(t.head, t.tail)
	for i := range all {
		m := &all[i]
		m.Refused = m.Refused || m.Failed && len(x.Refusals) > 0 && isRefusalReason(m.Text, x.Refusals)
	}
	at := len(x.Messages)
	if i := slices.IndexFunc(x.Messages, func(m runner.Message) bool { return m.Time.After(all[0].Time) }); i >= 0 && !all[0].Time.IsZero() {
		at = i
	}
	x.Messages, x.Output = slices.Insert(x.Messages, at, all...), nil
	if x.Gap != nil && x.Gap.After > at {
		x.Gap.After += len(all)
	}
	if t.dropped > 0 {
		if x.Gap == nil {
			x.Gap = &report.Gap{After: at + len(t.head)}
		}
		x.Gap.Messages += t.dropped
	}
	return t.inHead + t.sum
}

// isRefusalReason reports whether a text is the reason for which a tool call was denied. It is
// needed because some transcripts do not distinguish denied tool calls from failed ones.
func isRefusalReason(message string, refusals []state.Refusal) bool {
	message = text.Brief(text.Prefix(message, 4<<10), 1000)
	return slices.ContainsFunc(refusals, func(r state.Refusal) bool {
		return r.Reason != "" && strings.HasPrefix(message, strings.TrimSuffix(r.Reason, "…"))
	})
}

// messageReader reads the conversations of a run. It starts with the conversations of the most
// important executions.
type messageReader struct {
	source     Source
	execs      map[int]*report.Exec
	spare      int // bytes that remain in addition to the minimum for each execution
	missing    int // number of conversations without a transcript
	unknownCLI int // number of conversations with an unknown agent CLI
	shortened  int // number of executions whose messages are not complete
	problems   []string
}

// addMessages reads the conversations and adds their messages to the executions, up to about room
// bytes.
func addMessages(r *Report, s Source, p *conversations, room int) {
	l := &messageReader{source: s, execs: map[int]*report.Exec{}, spare: room}
	rank := map[int]int{}
	for i, x := range byImportance(r.Executions) {
		l.execs[x.N], rank[x.N] = x, i
	}
	for i := range r.Executions {
		x := &r.Executions[i]
		p.addStart(x.SessionID, start{x.N, x.Started, unknownOffset})
	}
	for _, c := range p.all {
		c.backend = cmp.Or(c.backend, s.Run.Options.BackendName()) // without a history, the CLI is not known
		for _, b := range c.starts {
			if x := l.execs[b.exec]; x != nil && c.Dir == "" {
				c.Dir = x.Cwd
			}
		}
	}
	p.all = slices.DeleteFunc(p.all, func(c *conversation) bool { return len(c.starts) == 0 })
	best := func(c *conversation) int {
		first := len(rank)
		for _, b := range c.starts {
			if at, ok := rank[b.exec]; ok {
				first = min(first, at)
			}
		}
		return first
	}
	slices.SortStableFunc(p.all, func(a, b *conversation) int { return cmp.Compare(best(a), best(b)) })
	for _, c := range p.all {
		l.spare -= minMessagesPerExec * len(c.starts)
	}
	for _, c := range p.all {
		l.read(c)
	}
	if l.shortened > 0 {
		r.addOmission("Only the first and the last messages of %s are shown; all of them would be too large for one page.", state.Count(l.shortened, "state execution"))
	}
	if l.missing > 0 {
		r.addOmission("%s can't be shown: the transcript is not on this machine.", state.Count(l.missing, "conversation"))
	}
	if l.unknownCLI > 0 {
		r.addOmission("%s can't be shown: the agent CLI is unknown.", state.Count(l.unknownCLI, "conversation"))
	}
	if more := len(l.problems) - 10; more > 0 {
		l.problems = append(l.problems[:10], fmt.Sprintf("%d more conversations can't be read.", more))
	}
	r.LeftOut = append(r.LeftOut, l.problems...)
}

// byImportance returns the executions, which are ordered by number, in another order: first the
// failed ones, then the others, each from the newest to the oldest.
func byImportance(execs []report.Exec) []*report.Exec {
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

// read adds the messages of one conversation. Every execution has room for its first and its last
// messages. The remaining room goes to the conversations that are read first.
func (l *messageReader) read(c *conversation) {
	agent := l.source.Agents[c.backend]
	if agent == nil {
		l.unknownCLI++
		return
	}
	talks := map[int]*messageBuffer{}
	limit := minMessagesPerExec + max(0, min(maxMessagesPerExec, l.spare))/max(1, len(c.starts))
	var order []int
	last := 0
	err := agent.Read(c.Conversation, 0, -1, func(m runner.Message) error {
		n := c.owner(m, last)
		last = n
		if l.execs[n] == nil {
			return nil
		}
		if talks[n] == nil {
			talks[n] = &messageBuffer{limit: limit}
			order = append(order, n)
		}
		for _, text := range []*string{&m.Text, &m.Input} {
			length := len(*text)
			*text = l.source.Hide(*text)
			if m.Cut > 0 && length > runner.MaxMessageText-4 && len(*text) > unsafeTail {
				m.Cut += unsafeTail
				*text = (*text)[:len(*text)-unsafeTail]
			}
		}
		m.Subagent = l.source.Hide(m.Subagent)
		talks[n].add(m)
		return nil
	})
	for _, n := range order {
		t := talks[n]
		l.spare -= max(0, t.moveTo(l.execs[n])-minMessagesPerExec)
		if t.dropped > 0 {
			l.shortened++
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.missing++
	case err != nil:
		l.problems = append(l.problems, l.source.Hide(fmt.Sprintf("The conversation %s can't be read: %v", c.ID, err)))
	}
}

package claude

import (
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// meter counts the tokens of the messages in the CLI's output. Its memory is bounded: it keeps only
// sums by model of messages that have ended.
type meter struct {
	open      map[string]*keyproxy.Message // the newest message of each thread
	last      *keyproxy.Message            // the newest message of all threads
	sums      keyproxy.Sums                // of the messages before the newest ones
	hasOutput bool                         // there was output of the model
}

// mostThreads is how many threads (subagents) are tracked at the same time.
const mostThreads = 256

// event is an event of the API's stream as the CLI passes it on.
type event struct {
	Parent string `json:"parent_tool_use_id"`
	Event  piece  `json:"event"`
}

// addEvent counts the tokens in a line with an event of the API's stream and returns the event. The
// result is empty if the line can't be decoded.
func (m *meter) addEvent(line []byte) (e event) {
	m.hasOutput = true
	if json.Unmarshal(line, &e, loose) != nil {
		return event{}
	}
	switch e.Event.Type {
	case "message_start":
		m.begin(e.Parent, e.Event.Message.startCount(false))
	case "message_delta":
		if msg := m.open[e.Parent]; msg != nil {
			msg.Update(usageOf(e.Event.Usage, ""))
		}
	default:
		m.last.AddText(e.Event.size())
	}
	return e
}

// addBlock counts a whole block of a message, from a CLI that prints no stream events or has repeated a
// request without streaming. It reports whether the block began a message.
func (m *meter) addBlock(parent string, msg answer) bool {
	m.hasOutput = true
	if now := m.open[parent]; now != nil && now.ID == msg.ID {
		return false
	}
	// The block's output count may be the count from the beginning of the message.
	m.begin(parent, msg.startCount(true))
	return true
}

func (m *meter) begin(parent string, msg *keyproxy.Message) {
	if m.open == nil {
		m.open = map[string]*keyproxy.Message{}
	}
	if _, known := m.open[parent]; known || len(m.open) >= mostThreads {
		m.close(parent)
	}
	m.open[parent], m.last = msg, msg
}

// close adds the newest message of a thread to the sums. For an unknown thread it adds the newest
// messages of all threads.
func (m *meter) close(parent string) {
	if msg := m.open[parent]; msg != nil {
		m.sums = m.sums.Add(msg)
		delete(m.open, parent)
		return
	}
	for _, msg := range m.open {
		m.sums = m.sums.Add(msg)
	}
	clear(m.open)
}

// counted returns the counts so far, in the order of the models' names.
func (m *meter) counted() []keyproxy.Sum { return m.sums.With(maps.Values(m.open)) }

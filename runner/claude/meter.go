package claude

import (
	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// meter counts the tokens of the messages in the CLI's output. It uses bounded memory: for messages that
// have ended, it stores only sums by model.
type meter struct {
	open      map[string]*keyproxy.Message // the newest message of each thread
	last      *keyproxy.Message            // the newest message of all threads
	sums      keyproxy.Sums                // counts of all messages that are not in open
	hasOutput bool                         // the CLI has printed output of the model
}

// mostThreads is how many threads (the main thread and subagents) the meter tracks at the same time.
const mostThreads = 256

// event is an event of the API's stream, as the CLI prints it.
type event struct {
	Parent string `json:"parent_tool_use_id"`
	Event  piece  `json:"event"`
}

// addEvent counts the tokens in a line that contains an event of the API's stream. It returns the event,
// which is empty if the line can't be decoded.
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

// addBlock counts a complete block of a message. This is needed for a CLI that prints no stream events
// or has repeated a request without streaming. It reports whether the block is the first one of its
// message.
func (m *meter) addBlock(parent string, msg answer) bool {
	m.hasOutput = true
	if now := m.open[parent]; now != nil && now.ID == msg.ID {
		return false
	}
	// The output count in the block may have been made at the beginning of the message.
	m.begin(parent, msg.startCount(true))
	return true
}

// begin makes msg the newest message of a thread, and adds the thread's previous message to the sums. For a
// new thread beyond mostThreads, it first adds the messages of all other threads to the sums.
func (m *meter) begin(parent string, msg *keyproxy.Message) {
	if m.open == nil {
		m.open = map[string]*keyproxy.Message{}
	}
	if last := m.open[parent]; last != nil {
		m.sums = m.sums.Add(last)
	} else if len(m.open) >= mostThreads {
		for _, last := range m.open {
			m.sums = m.sums.Add(last)
		}
		clear(m.open)
	}
	m.open[parent], m.last = msg, msg
}

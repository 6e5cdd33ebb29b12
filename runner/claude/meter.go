package claude

import (
	"maps"

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

// begin makes msg the newest message of a thread.
func (m *meter) begin(parent string, msg *keyproxy.Message) {
	if m.open == nil {
		m.open = map[string]*keyproxy.Message{}
	}
	if _, known := m.open[parent]; known || len(m.open) >= mostThreads {
		m.close(parent)
	}
	m.open[parent], m.last = msg, msg
}

// close adds the newest message of a thread to the sums. If the thread is unknown, it adds the newest
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

// counted returns the counts so far, sorted by the names of the models.
func (m *meter) counted() []keyproxy.Sum { return m.sums.With(maps.Values(m.open)) }

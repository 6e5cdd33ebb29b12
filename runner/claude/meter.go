package claude

import (
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// meter counts the tokens of the messages that go by in the CLI's output. Its
// memory is bounded: of messages that are over it keeps sums by model.
type meter struct {
	open  map[string]*keyproxy.Message // the newest message of each thread
	last  *keyproxy.Message            // the newest of all
	sums  keyproxy.Sums                // of those before
	spoke bool                         // something came from the model
}

// mostThreads is how many threads (subagents) are told apart at once.
const mostThreads = 256

// event is a piece of an answer as the CLI passes it on.
type event struct {
	Parent string `json:"parent_tool_use_id"`
	Event  piece  `json:"event"`
}

// piece counts the tokens of a line with a piece of an answer, and returns the piece. A line that
// can't be read is an empty piece.
func (m *meter) piece(line []byte) (e event) {
	m.spoke = true
	if json.Unmarshal(line, &e, loose) != nil {
		return event{}
	}
	switch e.Event.Type {
	case "message_start":
		m.begin(e.Parent, e.Event.Message.counted(false))
	case "message_delta":
		if msg := m.open[e.Parent]; msg != nil {
			msg.Update(usageOf(e.Event.Usage, ""))
		}
	default:
		m.last.AddText(e.Event.size())
	}
	return e
}

// spoken takes a whole block of a message, of a CLI that tells no pieces or asked
// again without them. It reports whether it began a message.
func (m *meter) spoken(parent string, msg answer) bool {
	m.spoke = true
	if now := m.open[parent]; now != nil && now.ID == msg.ID {
		return false
	}
	// Its count of the output may be that of the message's beginning.
	m.begin(parent, msg.counted(true))
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

// close adds the newest message of a thread to the sums; of an unknown thread, the
// newest messages of all.
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

// counted returns what was counted so far, in order of the models' names.
func (m *meter) counted() []keyproxy.Sum { return m.sums.With(maps.Values(m.open)) }

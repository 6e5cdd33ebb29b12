package runner

import (
	"errors"
	"time"
)

// Speaker says who wrote a message.
type Speaker string

// The speakers of a conversation.
const (
	FromUser  Speaker = "user"  // a prompt, or a reminder
	FromAgent Speaker = "agent" // text of the model
	FromTool  Speaker = "tool"  // a use of a tool, with its result
	FromCLI   Speaker = "cli"   // an entry of the agent CLI itself: a summary, an error of the API
)

// Message is one message of a conversation, as its transcript has it. Nothing in it is masked or
// escaped.
type Message struct {
	// Offset is the byte offset of its line in the transcript, so that messages can be assigned
	// to state executions.
	Offset int64     `json:"offset"`
	Time   time.Time `json:"time,omitzero"` // zero if the transcript doesn't record it
	From   Speaker   `json:"from"`
	Model  string    `json:"model,omitempty"`
	Text   string    `json:"text,omitempty"` // of a tool: its result, which may be ""
	Tool   string    `json:"tool,omitempty"` // its name
	Input  string    `json:"input,omitempty"`
	// Failed is true if the tool ended in an error, Refused if it was not allowed to run.
	Failed  bool `json:"failed,omitempty"`
	Refused bool `json:"refused,omitempty"`
	// Subagent identifies the conversation of a subagent that this agent started with a tool, as
	// far as the transcript has it; "" for the conversation itself.
	Subagent string `json:"subagent,omitempty"`
	// Cut is how many bytes of Text or Input were left out.
	Cut int64 `json:"cut,omitempty"`
}

// MaxMessageText is how many bytes of a message's text are read. A secret at the end of a cut
// text may be incomplete and can't be recognized: code that hides secrets must also drop as many
// bytes there as the longest secret has.
const MaxMessageText = 64 << 10

// ErrCantCopy is the error of an agent CLI that can't continue a copy of a conversation.
var ErrCantCopy = errors.New("the agent CLI can't continue a copy of a conversation")

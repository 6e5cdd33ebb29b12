package runner

import (
	"errors"
	"time"
)

// Speaker says whose message it is.
type Speaker string

// The speakers of a conversation.
const (
	FromUser  Speaker = "user"  // a prompt, or a reminder
	FromAgent Speaker = "agent" // what the model said
	FromTool  Speaker = "tool"  // a use of a tool, with what it brought
	FromCLI   Speaker = "cli"   // what the agent CLI wrote down itself: a summary, an error of the API
)

// Message is one message of a conversation, as a transcript has it. Nothing of it is masked
// or escaped.
type Message struct {
	// Offset is where its line begins in the transcript, in bytes, so that messages can be
	// given to the state execution that they belong to.
	Offset int64     `json:"offset"`
	Time   time.Time `json:"time,omitzero"` // zero where the transcript does not tell
	From   Speaker   `json:"from"`
	Model  string    `json:"model,omitempty"`
	Text   string    `json:"text,omitempty"` // of a tool: what it brought; "" when it brought nothing
	Tool   string    `json:"tool,omitempty"` // its name
	Input  string    `json:"input,omitempty"`
	// Failed says that the tool ended in an error, and Refused that it was not allowed to run.
	Failed  bool `json:"failed,omitempty"`
	Refused bool `json:"refused,omitempty"`
	// Subagent names the conversation of an agent that this one started through a tool, as
	// far as the transcript has it; "" for the conversation itself.
	Subagent string `json:"subagent,omitempty"`
	// Cut says how many bytes were left out of Text or Input.
	Cut int64 `json:"cut,omitempty"`
}

// MaxMessageText is how much of a text of a message is read, in bytes. A secret may stand across
// the end of a text that was cut, where it can't be recognized any more: whoever hides secrets
// drops as many bytes there as the longest of them has.
const MaxMessageText = 64 << 10

// ErrCantCopy says that an agent CLI can't continue a copy of a conversation.
var ErrCantCopy = errors.New("the agent CLI can't continue a copy of a conversation")

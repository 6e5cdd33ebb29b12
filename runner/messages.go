package runner

import (
	"errors"
	"time"
)

// Speaker says who wrote a message.
type Speaker string

// The possible writers of a message.
const (
	FromUser  Speaker = "user"  // a prompt, or a reminder
	FromAgent Speaker = "agent" // text of the model
	FromTool  Speaker = "tool"  // a tool call, with its result
	FromCLI   Speaker = "cli"   // an entry by the agent CLI itself, for example a summary or an API error
)

// Message is one message of a conversation, as its transcript contains it. Nothing in it is masked
// or escaped.
type Message struct {
	// Offset is the byte offset of the message's line in the transcript. It is used to assign
	// messages to state executions.
	Offset int64     `json:"offset"`
	Time   time.Time `json:"time,omitzero"` // zero if the transcript doesn't record the time
	From   Speaker   `json:"from"`
	Model  string    `json:"model,omitempty"`
	Text   string    `json:"text,omitempty"` // for a tool call, its result, which may be ""
	Tool   string    `json:"tool,omitempty"` // for a tool call, the tool's name
	Input  string    `json:"input,omitempty"`
	// Failed is true if the tool ended in an error. Refused is true if the tool was not allowed to
	// run.
	Failed  bool `json:"failed,omitempty"`
	Refused bool `json:"refused,omitempty"`
	// Subagent identifies the conversation of a subagent that this agent started with a tool, if
	// the transcript contains such a conversation. It is empty for the agent's own messages.
	Subagent string `json:"subagent,omitempty"`
	// Cut is how many bytes of Text or Input were left out.
	Cut int64 `json:"cut,omitempty"`
}

// MaxMessageText is the largest number of bytes that are read of a message's text. A secret at the
// end of a cut text may be incomplete, so that it can't be recognized. Code that hides secrets must
// therefore also drop as many bytes at that end as the longest secret has.
const MaxMessageText = 64 << 10

// ErrCantCopy is the error of an agent CLI that can't continue a copy of a conversation.
var ErrCantCopy = errors.New("the agent CLI can't continue a copy of a conversation")

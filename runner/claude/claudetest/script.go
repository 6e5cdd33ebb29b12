package claudetest

import "strings"

// Rule says how to answer requests whose last user text contains Match.
type Rule struct {
	Match string // substring; "" fits every request
	// Steps answers by the number of assistant messages since that user text, so
	// that a tool loop walks through them. It depends on the request alone and
	// so holds for resumed, branched, retried and parallel sessions. The last
	// step repeats.
	Steps []Reply
	// Sequence, used without Steps, answers the rule's first, second, … request.
	// The last one repeats.
	Sequence []Reply
}

// Reply is one answer of the API: blocks, or an error when Status says so.
type Reply struct {
	Blocks []Block
	Usage  *Usage // nil for 100 in, 20 out

	Status  int // an HTTP error from 400 on; 0 for 200
	Message string
	Header  map[string]string
	// Hang waits in the middle of the first block until the client goes away, and Cut closes
	// the connection there.
	Hang, Cut bool
}

// Block is one content block of a reply.
type Block struct {
	Type  string // "text" or "tool_use"
	Text  string
	Tool  string
	Input map[string]any
}

// Usage counts the tokens that a reply reports.
type Usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
}

// Text is a text block.
func Text(s string) Block { return Block{Type: "text", Text: s} }

// ToolUse is a block that asks for a tool.
func ToolUse(tool string, input map[string]any) Block {
	return Block{Type: "tool_use", Tool: tool, Input: input}
}

// Bash is a block that asks for a shell command.
func Bash(command string) Block {
	return ToolUse("Bash", map[string]any{"command": command, "description": "test"})
}

// Say is a reply of one text block for each of texts.
func Say(texts ...string) Reply {
	var r Reply
	for _, s := range texts {
		r.Blocks = append(r.Blocks, Text(s))
	}
	return r
}

// Do is a reply of the given blocks.
func Do(blocks ...Block) Reply { return Reply{Blocks: blocks} }

// On is a rule that walks through steps for prompts that contain match.
func On(match string, steps ...Reply) Rule { return Rule{Match: match, Steps: steps} }

// pick returns the reply to a request and how often the rule was used before.
func (r *Rule) pick(used, step int) Reply {
	if len(r.Steps) > 0 {
		return r.Steps[min(step, len(r.Steps)-1)]
	}
	if len(r.Sequence) > 0 {
		return r.Sequence[min(used, len(r.Sequence)-1)]
	}
	return Say("ok")
}

func (r *Rule) fits(prompt string) bool { return strings.Contains(prompt, r.Match) }

func (r Reply) stopReason() string {
	for _, b := range r.Blocks {
		if b.Type == "tool_use" {
			return "tool_use"
		}
	}
	return "end_turn"
}

func (r Reply) usage() Usage {
	if r.Usage != nil {
		return *r.Usage
	}
	return Usage{Input: 100, Output: 20}
}

package claudetest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// stream answers with server-sent events.
func (c *call) stream() {
	c.w.Header().Set("Content-Type", "text/event-stream")
	m := c.message(nil)
	u := c.usage()
	u.Output = 1 // the real count comes at the end
	m["usage"] = u
	c.event("message_start", map[string]any{"message": m})
	c.at(Start)
	for i, b := range c.Blocks {
		c.block(i, b)
	}
	c.at(End)
	switch {
	case c.StreamError != "":
		c.event("error", map[string]any{"error": map[string]any{"type": c.StreamError, "message": c.StreamError}})
	case !c.NoStop:
		delta := map[string]any{"stop_reason": c.stopReason(), "stop_sequence": nil}
		c.event("message_delta", map[string]any{"delta": delta, "usage": c.usage()})
		c.event("message_stop", map[string]any{})
	}
}

// block sends one content block in two deltas, with the Middle point of the
// first block between them.
func (c *call) block(i int, b Block) {
	c.event("content_block_start", map[string]any{"index": i, "content_block": b.empty(c.id("toolu", i))})
	full, half := b.payload(), len(b.payload())/2
	for half > 0 && full[half]&0xC0 == 0x80 { // not within a character
		half--
	}
	c.delta(i, b.delta(full[:half]))
	if i == 0 {
		c.at(Middle)
	}
	c.delta(i, b.delta(full[half:]))
	if b.Type == "thinking" {
		c.delta(i, map[string]any{"type": "signature_delta", "signature": signature})
	}
	c.event("content_block_stop", map[string]any{"index": i})
}

func (c *call) delta(i int, d map[string]any) {
	c.event("content_block_delta", map[string]any{"index": i, "delta": d})
}

// event sends one event at once. It is no error that the client has left.
func (c *call) event(kind string, fields map[string]any) {
	fields["type"] = kind
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(c.w, "event: %s\ndata: %s\n\n", kind, data)
	http.NewResponseController(c.w).Flush()
}

const signature = "c2NyaXB0ZWQ="

func (b Block) payload() string {
	if b.Type != "tool_use" {
		return b.Text
	}
	data, err := json.Marshal(b.Input)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (b Block) empty(id string) map[string]any {
	e := Block{Type: b.Type, Tool: b.Tool, Input: map[string]any{}}.whole(id)
	delete(e, "signature")
	return e
}

func (b Block) delta(part string) map[string]any {
	switch b.Type {
	case "tool_use":
		return map[string]any{"type": "input_json_delta", "partial_json": part}
	case "thinking":
		return map[string]any{"type": "thinking_delta", "thinking": part}
	}
	return map[string]any{"type": "text_delta", "text": part}
}

// whole is the block as a reply that is not streamed has it.
func (b Block) whole(id string) map[string]any {
	switch b.Type {
	case "tool_use":
		return map[string]any{"type": "tool_use", "id": id, "name": b.Tool, "input": b.Input}
	case "thinking":
		return map[string]any{"type": "thinking", "thinking": b.Text, "signature": signature}
	}
	return map[string]any{"type": "text", "text": b.Text}
}

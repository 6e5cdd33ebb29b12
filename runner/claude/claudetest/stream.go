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
	for i, b := range c.Blocks {
		c.block(i, b)
	}
	delta := map[string]any{"stop_reason": c.stopReason(), "stop_sequence": nil}
	c.event("message_delta", map[string]any{"delta": delta, "usage": c.usage()})
	c.event("message_stop", map[string]any{})
}

// block sends one content block in two deltas.
func (c *call) block(i int, b Block) {
	c.event("content_block_start", map[string]any{"index": i, "content_block": b.empty(c.id("toolu", i))})
	full, half := b.payload(), len(b.payload())/2
	for half > 0 && full[half]&0xC0 == 0x80 { // not within a character
		half--
	}
	c.delta(i, b.delta(full[:half]))
	if i == 0 && (c.Hang || c.Cut) {
		c.breakOff()
	}
	c.delta(i, b.delta(full[half:]))
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
	return Block{Type: b.Type, Tool: b.Tool, Input: map[string]any{}}.whole(id)
}

func (b Block) delta(part string) map[string]any {
	if b.Type == "tool_use" {
		return map[string]any{"type": "input_json_delta", "partial_json": part}
	}
	return map[string]any{"type": "text_delta", "text": part}
}

// whole is the block as a reply that is not streamed has it.
func (b Block) whole(id string) map[string]any {
	if b.Type == "tool_use" {
		return map[string]any{"type": "tool_use", "id": id, "name": b.Tool, "input": b.Input}
	}
	return map[string]any{"type": "text", "text": b.Text}
}

package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner"
)

// BenchmarkPieces compares reading an answer with the 2,000 pieces that it came in
// with reading the whole answer alone.
func BenchmarkPieces(b *testing.B) {
	piece := `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words"}},` +
		`"session_id":"` + chosen + `","parent_tool_use_id":null,"uuid":"22222222-2222-4222-8222-222222222222"}` + "\n"
	begin := `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"opus","usage":{"input_tokens":50}}}}` + "\n"
	whole := fmt.Sprintf(`{"type":"assistant","message":{"id":"m","model":"opus","content":[{"type":"text","text":%q}]}}`+"\n", strings.Repeat("some words", 2000))
	for name, text := range map[string]string{
		"without": whole + goodbye + "\n", "with": begin + strings.Repeat(piece, 2000) + whole + goodbye + "\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, func(runner.Progress) {})
				s.Write([]byte(text))
			}
		})
	}
}

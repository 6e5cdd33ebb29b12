package claudetest

import "testing"

// NewNotesServer starts a server that answers the prompts of docs/debugging.md as an agent
// would that obeys them.
func NewNotesServer(t testing.TB) *Server {
	t.Helper()
	write := func(text string) Reply {
		return Do(ToolUse("Write", map[string]any{"file_path": "NOTES.md", "content": text}))
	}
	onward := Say("<goto>CLOSE.md</goto>")
	return NewServer(t,
		On("Do not mention any numbers", write("Exports are faster.\n"), onward),
		On("Begin it with the number", write("- #12: Exports are faster.\n"), onward),
		On("Read changes.txt", Do(ToolUse("Read", map[string]any{"file_path": "changes.txt"})), Say("Users notice #12.\n<goto>WRITE.md</goto>")),
		On("Sum up", Say("<result>Exports are faster.</result>")),
	)
}

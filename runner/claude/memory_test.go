package claude

import (
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

const mib = 1 << 20

// longStream describes an output that is much larger than the memory that its reader may use.
type longStream struct {
	name, head, body, tail string
	// wantFail is empty if the answer "hello" is expected.
	wantFail string
}

// write writes the output to a stream and checks the result. It repeats body until the output has the
// given size. It returns by how many MiB the result of measure grew.
func (h longStream) write(t *testing.T, size int, measure func(runtime.MemStats) uint64) int64 {
	t.Helper()
	var m runtime.MemStats
	now := func() int64 {
		runtime.GC() // the heap must not contain garbage when it is measured
		runtime.ReadMemStats(&m)
		return int64(measure(m)) / mib
	}
	s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}, Verbosity: runner.VerbosityFull}, nil)
	piece := []byte(strings.Repeat(h.body, max(1, mib/len(h.body))))
	before, peak := now(), int64(0)
	s.Write([]byte(h.head))
	for fed := 0; fed+len(piece)+len(h.head)+len(h.tail) <= size; fed += len(piece) {
		s.Write(piece)
		peak = max(peak, now())
	}
	s.Write([]byte(h.tail + "\n" + hello + "\n" + goodbye + "\n"))
	peak = max(peak, now())
	a, f := s.answer(proc.Exit{})
	if h.wantFail == "" {
		assert.Check(t, is.Nil(f), h.name)
		assert.Check(t, is.Equal(a.Text, "hello"), h.name)
	} else {
		assert.Assert(t, f != nil, h.name)
		assert.Check(t, is.ErrorContains(f, h.wantFail), h.name)
	}
	return peak - before
}

// TestMemoryIsBounded checks that an output of 40 MiB makes the heap grow only by a limited amount.
func TestMemoryIsBounded(t *testing.T) {
	filler := strings.Repeat("x", mib)
	block := `{"type":"assistant","message":{"content":[{"type":"text","text":"` + filler + `"}]}}` + "\n"
	const tooLong = "the message is over 10 MiB"
	for _, h := range []longStream{
		{"one tool result", hello + "\n" + `{"type":"user","message":{"content":[{"type":"tool_result","content":"`, filler, "", ""},
		{"an endless message", "", block, "", tooLong},
		{"one endless block", `{"type":"assistant","message":{"content":[{"type":"text","text":"`, filler, "", tooLong},
		{"one endless result", `{"type":"result","result":"`, filler, "", tooLong},
	} {
		grown := h.write(t, 40*mib, func(m runtime.MemStats) uint64 { return m.HeapAlloc })
		assert.Check(t, grown <= 48, "%s: heap grew by %d MiB, want at most 48", h.name, grown)
	}
}

// TestLinesWithManyValuesAreNotDecoded checks that little memory is allocated for lines of 16 MiB that
// would need hundreds of MiB if they were decoded.
func TestLinesWithManyValuesAreNotDecoded(t *testing.T) {
	const tooMany, tooDeep = "too much to decode: it has more than 100000 values", "too much to decode: its values are more than 256 deep"
	for _, h := range []longStream{
		{"blocks of an answer", `{"type":"assistant","message":{"content":[`, `{},`, `{}]}}`, tooMany},
		{"blocks of a tool result", `{"type":"user","message":{"content":[`, `{},`, `{}]}}`, ""},
		{"deep input of a tool", `{"type":"assistant","message":{"content":[{"type":"tool_use","input":`, `[`, ``, tooDeep},
	} {
		grown := h.write(t, transcripts.MaxLine, func(m runtime.MemStats) uint64 { return m.TotalAlloc })
		assert.Check(t, grown <= 96, "%s: allocated %d MiB, want at most 96", h.name, grown)
	}
}

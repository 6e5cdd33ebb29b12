package claude

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

const mib = 1 << 20

// hose is a stream that is far larger than the memory it may take.
type hose struct {
	name, head, body, tail string
	wantFail               string // "" for the answer "hello"
}

// TestMemoryIsBounded feeds streams of 40 MB and looks at the heap on the way.
func TestMemoryIsBounded(t *testing.T) {
	filler, good := strings.Repeat("x", mib), "\n"+hello+"\n"+goodbye+"\n"
	said := `{"type":"assistant","message":{"content":[{"type":"text","text":"` + filler + `"}]}}` + "\n"
	tooLong := "the message is over 10 MiB"
	for _, h := range []hose{
		{"one tool result", hello + "\n" + `{"type":"user","message":{"content":[{"type":"tool_result","content":"`, filler, good, ""},
		{"an endless message", "", said, good, tooLong},
		{"one endless block", `{"type":"assistant","message":{"content":[{"type":"text","text":"`, filler, good, tooLong},
		{"one endless result", `{"type":"result","result":"`, filler, good, tooLong},
	} {
		h.check(t)
	}
}

func (h hose) check(t *testing.T) {
	s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, nil)
	// How much garbage there is must not depend on what the tests before needed.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	base, peak, body := heap(), uint64(0), []byte(h.body)
	s.Write([]byte(h.head))
	for fed := 0; fed < 40*mib; fed += len(body) {
		s.Write(body)
		peak = max(peak, heap())
	}
	s.Write([]byte(h.tail))
	a, f := s.answer(proc.Exit{})
	got := ""
	if f != nil {
		got = f.Message
	}
	if got != h.wantFail || f == nil && a.Text != "hello" {
		t.Errorf("%s: got %.20q, failure %q, want \"hello\" or failure %q", h.name, a.Text, got, h.wantFail)
	}
	grown := (int64(peak) - int64(base)) / mib
	assert.Check(t, grown <= 48, "%s: heap grew by %d MiB, want at most 48", h.name, grown)
}

// TestLinesOfManyValuesAreNotDecoded feeds single lines of 16 MiB that would be hundreds
// of MiB of structs.
func TestLinesOfManyValuesAreNotDecoded(t *testing.T) {
	tooMany := "a record of the agent CLI is too much to decode: it has more than 100000 values"
	tooDeep := "a record of the agent CLI is too much to decode: its values are more than 256 deep"
	for _, h := range []hose{
		{"blocks of an answer", `{"type":"assistant","message":{"content":[`, `{},`, `{}]}}`, tooMany},
		{"blocks of a tool result", `{"type":"user","message":{"content":[`, `{},`, `{}]}}`, ""},
		{"deep input of a tool", `{"type":"assistant","message":{"content":[{"type":"tool_use","input":`, `[`, ``, tooDeep},
	} {
		h.checkLine(t)
	}
}

// checkLine sends one line of nearly transcripts.MaxLine bytes that repeats the body.
func (h hose) checkLine(t *testing.T) {
	times := (transcripts.MaxLine - len(h.head) - len(h.tail)) / len(h.body)
	line := []byte("\n" + h.head + strings.Repeat(h.body, times) + h.tail + "\n")
	o := runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}, Telling: runner.TellAll}
	s := newStream(o, nil)
	before := allocated()
	for chunk := range slices.Chunk(line, 32<<10) {
		s.Write(chunk)
	}
	s.Write([]byte(hello + "\n" + goodbye + "\n"))
	grown := (allocated() - before) / mib
	a, f := s.answer(proc.Exit{})
	got := ""
	if f != nil {
		got = f.Message
	}
	if got != h.wantFail || f == nil && a.Text != "hello" {
		t.Errorf("%s: got %.20q, failure %q, want \"hello\" or failure %q", h.name, a.Text, got, h.wantFail)
	}
	assert.Check(t, grown <= 96, "%s: allocated %d MiB, want at most 96", h.name, grown)
}

// allocated is all that was ever allocated, also what is free again.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

package claude

import (
	"runtime"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
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
	toolResult := `{"type":"user","message":{"content":[{"type":"tool_result","content":"` + filler + `"}]}}` + "\n"
	said := `{"type":"assistant","message":{"content":[{"type":"text","text":"` + filler + `"}]}}` + "\n"
	tooLong := "the message is over 10 MiB"
	for _, h := range []hose{
		{"tool results", hello + "\n", toolResult, good, ""},
		{"one tool result", hello + "\n" + `{"type":"user","message":{"content":[{"type":"tool_result","content":"`, filler, good, ""},
		{"one unknown record", `{"a":{"type":1},"type":"zzz","b":"`, filler, good, ""},
		{"no line at all", "", filler, good, ""},
		{"an endless message", "", said, good, tooLong},
		{"one endless block", `{"type":"assistant","message":{"content":[{"type":"text","text":"`, filler, good, tooLong},
		{"one endless result", `{"type":"result","result":"`, filler, good, tooLong},
	} {
		h.check(t)
	}
}

func (h hose) check(t *testing.T) {
	s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, nil)
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
	if grown := (int64(peak) - int64(base)) / mib; grown > 48 {
		t.Errorf("%s: heap grew by %d MiB, want at most 48", h.name, grown)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

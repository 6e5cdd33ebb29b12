package claude

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of testdata/stream")

const chosen = "11111111-1111-4111-8111-111111111111"

// TestRecordedStreams holds what recordings of the real CLI, shortened, amount
// to. The second line of a file says how the process ended.
func TestRecordedStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/stream/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("recordings: got %v, %v, want some", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { replay(t, file) })
	}
}

func replay(t *testing.T, file string) {
	ar, err := txtar.ParseFile(file)
	must(t, err)
	var mode, ended string
	var exit proc.Exit
	_, how, _ := strings.Cut(string(ar.Comment), "\n")
	if _, err := fmt.Sscanf(strings.ReplaceAll(how, "ended=\n", "ended=-\n"),
		"mode=%s code=%d ended=%s\n", &mode, &exit.Code, &ended); err != nil {
		t.Fatalf("%s: %q: %v", file, how, err)
	}
	exit.Ended = proc.End(strings.Trim(ended, "-"))
	exit.StderrTail = part(ar, "stderr")
	s := newStream(runner.Order{Prompt: runner.PromptOrder{Session: state.SessionMode(mode), SessionID: chosen}}, nil)
	s.Write(part(ar, "stdout"))
	s.flush()
	a, fail := s.answer(exit)
	got := describe(a, fail)
	if *update {
		ar.Files[len(ar.Files)-1].Data = []byte(got)
		must(t, os.WriteFile(file, txtar.Format(ar), 0o644))
	}
	if diff := cmp.Diff(string(part(ar, "want")), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func part(ar *txtar.Archive, name string) []byte {
	for _, f := range ar.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// describe writes down everything an invocation brought.
func describe(a runner.Answer, f *runner.Failure) string {
	var b strings.Builder
	if f != nil {
		fmt.Fprintf(&b, "failure %s: %s\n", f.Class, f.Message)
		if f.Continue {
			b.WriteString("can be continued\n")
		}
		if !f.Reset.IsZero() {
			fmt.Fprintf(&b, "until %s\n", f.Reset.UTC().Format("2006-01-02 15:04:05"))
		}
	}
	fmt.Fprintf(&b, "text %q\nsession %q model %q turns %d\n", a.Text, a.SessionID, a.Model, a.Turns)
	fmt.Fprintf(&b, "cost %s\n", costText(a.Cost))
	for _, u := range a.Cost.Usage {
		fmt.Fprintf(&b, "  %s %s: in %d out %d write %d read %d\n", u.Model, u.CostUSD, u.Input, u.Output, u.CacheWrite, u.CacheRead)
	}
	for _, u := range a.Cost.Beyond {
		fmt.Fprintf(&b, "  beyond that %s: in %d out %d write %d read %d\n", u.Model, u.Input, u.Output, u.CacheWrite, u.CacheRead)
	}
	if a.Cost.Silent {
		b.WriteString("  nothing came from the model\n")
	}
	if r := a.Cost.Reached; r != nil {
		fmt.Fprintf(&b, "  reached %s\n", r.USD)
	}
	for _, d := range a.Denied {
		fmt.Fprintf(&b, "denied %s\n", d)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note %s\n", n)
	}
	return b.String()
}

func costText(c state.Cost) string {
	if c.Kind == "" {
		return "not told"
	}
	return fmt.Sprintf("%s %s", c.Kind, c.USD)
}

// answerOf feeds lines to a stream and returns what they amount to when the
// process then exits with 0.
func answerOf(o runner.Order, lines ...string) (runner.Answer, *runner.Failure) {
	s := newStream(o, nil)
	s.Write([]byte(strings.Join(lines, "\n")))
	s.flush()
	return s.answer(proc.Exit{})
}

const (
	hello   = `{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}}`
	start   = `{"type":"system","subtype":"init","session_id":"` + chosen + `","model":"m"}`
	goodbye = `{"type":"result","subtype":"success","stop_reason":"end_turn","total_cost_usd":0.5,"session_id":"` + chosen + `"}`
)

// TestOddResults holds what the result record may lack or hold wrongly without
// the answer being lost, and what makes it no answer.
func TestOddResults(t *testing.T) {
	tests := []struct{ name, fields, wantCost, wantFail string }{
		{"no stop reason", `"total_cost_usd":0.25`, "exact 0.25", ""},
		{"null stop reason", `"stop_reason":null,"total_cost_usd":0`, "not told", "transient: no complete answer: the stream broke off"},
		{"null stop reason, some cost", `"stop_reason":null,"total_cost_usd":1`, "estimated 1", "transient: no complete answer: the stream broke off"},
		{"cost as a string", `"total_cost_usd":"0.25"`, "not told", ""},
		{"negative cost", `"total_cost_usd":-1`, "not told", ""},
		{"null cost", `"total_cost_usd":null`, "not told", ""},
		{"cost as an object", `"total_cost_usd":{"usd":1}`, "not told", ""},
		{"cost beyond reason", `"total_cost_usd":1e12`, "exact 1000000000", ""},
		{"cost beyond numbers", `"total_cost_usd":1e999`, "exact 1000000000", ""},
		{"no cost", `"num_turns":1`, "not told", ""},
		{"tiny cost", `"total_cost_usd":1e-7`, "exact 0.0000001", ""},
		{"free of charge", `"total_cost_usd":0`, "exact 0", ""},
		{"broken shares", `"total_cost_usd":1,"modelUsage":{"m":{"inputTokens":"many"}}`, "exact 1", ""},
		{"names twice", `"total_cost_usd":1,"total_cost_usd":2`, "exact 2", ""},
		{"unknown subtype of error", `"is_error":true,"errors":["x\ny"]`, "not told", "transient: the agent CLI reports: x y"},
	}
	for _, tt := range tests {
		a, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, start, hello, `{"type":"result","subtype":"success",`+tt.fields+`}`)
		fail := ""
		if f != nil {
			fail = string(f.Class) + ": " + f.Message
		}
		if got := costText(a.Cost); got != tt.wantCost || fail != tt.wantFail || a.Text != "hello" {
			t.Errorf("%s (%s): got %q, cost %s, failure %q, want \"hello\", %s, %q",
				tt.name, tt.fields, a.Text, got, fail, tt.wantCost, tt.wantFail)
		}
	}
}

// TestSharesOfOneModelAreAdded holds that a model counts once, whatever its
// variant is called.
func TestSharesOfOneModelAreAdded(t *testing.T) {
	a, _ := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, hello, `{"type":"result","subtype":"success","total_cost_usd":3,"modelUsage":{`+
		`"opus[1m]":{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":3,"cacheCreationInputTokens":4,"costUSD":1},`+
		`"opus":{"inputTokens":10,"outputTokens":20,"costUSD":2},"haiku":{"inputTokens":5,"costUSD":"x"}}}`)
	want := []state.ModelCost{
		{Usage: state.Usage{Model: "haiku", Input: 5}},
		{Usage: state.Usage{Model: "opus", Input: 11, Output: 22, CacheRead: 3, CacheWrite: 4}, CostUSD: 3 * state.Dollar},
	}
	if diff := cmp.Diff(want, a.Cost.Usage); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

// TestSessionIsTheOneAskedFor holds that an answer from another conversation is
// never taken for the one that was wanted, and ends the CLI at once.
func TestSessionIsTheOneAskedFor(t *testing.T) {
	other := "22222222-2222-4222-8222-222222222222"
	tests := []struct {
		order    runner.Order
		got      string
		wantFail string
		wantNote bool
	}{
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Fresh, SessionID: chosen}}, chosen, "", false},
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Fresh, SessionID: chosen}}, other, "", true},
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: chosen}}, chosen, "", false},
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: chosen}}, other, "replaced", false},
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Branch, SessionID: chosen, From: other}}, chosen, "", false},
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Branch, SessionID: chosen, From: other}}, other, "not branched", false},
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Branch, SessionID: chosen, From: other}}, "3", "", true},
	}
	for _, tt := range tests {
		ended := false
		s := newStream(tt.order, nil)
		s.abort = func(error) { ended = true }
		for _, line := range []string{start, hello, goodbye} {
			s.Write([]byte(strings.ReplaceAll(line, chosen, tt.got) + "\n"))
		}
		a, f := s.answer(proc.Exit{})
		bad := f != nil && f.Class == runner.Fatal && strings.Contains(f.Message, tt.wantFail)
		if (f != nil || tt.wantFail != "") && !bad || ended != bad || (len(a.Notes) > 0) != tt.wantNote || a.SessionID != tt.got {
			t.Errorf("%s of %s answered by %s: got %+v, %v, ended %v, want failure %q, note %v",
				tt.order.Prompt.Session, chosen, tt.got, a, f, ended, tt.wantFail, tt.wantNote)
		}
	}
}

// TestLastResultDecides holds what several result records mean.
func TestLastResultDecides(t *testing.T) {
	later := strings.Replace(goodbye, "0.5", "0.75", 1)
	broken := `{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"overloaded","total_cost_usd":1}`
	tests := []struct {
		name  string
		lines []string
		ended proc.End
		want  string
	}{
		{"two good ones", []string{hello, goodbye, hello, later}, proc.ByItself, "hellohello, exact 0.75, <nil>"},
		{"then an error", []string{hello, goodbye, hello, broken}, proc.ByItself, "hellohello, estimated 1, the agent CLI reports: overloaded"},
		{"then we end it", []string{hello, goodbye, hello}, proc.ByStop, "hello, exact 0.5, <nil>"},
		{"then it is ended with an error", []string{hello, goodbye, hello, broken}, proc.ByTimeout, "hello, estimated 1, <nil>"},
		{"we end it first", []string{hello, broken}, proc.ByStop, "hello, estimated 1, stopped before the agent had answered"},
	}
	for _, tt := range tests {
		s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, nil)
		s.Write([]byte(strings.Join(tt.lines, "\n") + "\n"))
		a, f := s.answer(proc.Exit{Ended: tt.ended})
		if got := fmt.Sprintf("%s, %s, %v", a.Text, costText(a.Cost), f); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSubagentsAreNotHeard holds that what a subagent says and does while the
// main thread answers is no part of the message and does not cut it.
func TestSubagentsAreNotHeard(t *testing.T) {
	a, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, start, hello,
		`{"type":"assistant","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"<goto>NO</goto>"}]}}`,
		`{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"tool_result"}]}}`, goodbye)
	if f != nil || a.Text != "hello" {
		t.Errorf("a subagent beside the main thread: got %q, %v, want \"hello\"", a.Text, f)
	}
}

// TestNoiseIsIgnored holds that lines that are no records cost nothing but a
// note.
func TestNoiseIsIgnored(t *testing.T) {
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	noise := []string{"", "  ", "null", "not json", `{"type":`, `[1]`, `{"type":5}`, "{}", deep,
		`{"type":"news","message":{"content":"x"}}`, "\xff\xfe", `{"type":"assistant","message":"text"}`}
	var lines []string
	for _, record := range []string{start, hello, goodbye} {
		lines = append(append(lines, noise...), record)
	}
	a, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, append(lines, noise...)...)
	if f != nil || a.Text != "hello" || len(a.Notes) != 1 {
		t.Errorf("noise around a good answer: got %+v, %v, want \"hello\" and one note", a, f)
	}
}

// FuzzStream holds that nothing the CLI prints breaks the reader, and that a
// failure and a good end exclude each other.
func FuzzStream(f *testing.F) {
	f.Add([]byte(start+"\n"+hello+"\n"+goodbye), 3)
	f.Add([]byte(`{"type":"assistant","message":{"content":"x"}}`+"\n"+`{"type":"result","modelUsage":[]}`), 1)
	f.Add([]byte(`{"type":"rate_limit_event","rate_limit_info":{"resetsAt":1e99,"status":"rejected"}}`), 7)
	f.Add([]byte(`{"type":"result","subtype":"success","permission_denials":[{"tool_name":"\u0000","tool_input":5}]}`), 9)
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}, Telling: runner.TellAll}, func(p runner.Progress) {
			if strings.ContainsAny(p.Text, "\r\n") {
				t.Errorf("progress: got %q, want one line", p.Text)
			}
		})
		size := max(chunk%64, 1)
		for rest := data; len(rest) > 0; {
			n := min(size, len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
		}
		s.flush()
		a, fail := s.answer(proc.Exit{})
		if fail == nil && (s.verdict.final == nil || len(a.Text) > len(data)) {
			t.Errorf("stream %q: got answer %q without a good result", data, a.Text)
		}
		if fail != nil && (fail.Message == "" || bytes.ContainsAny([]byte(fail.Message), "\r\n")) {
			t.Errorf("stream %q: got message %q, want one line", data, fail.Message)
		}
		if a.Cost.USD < 0 {
			t.Errorf("stream %q: got cost %s", data, a.Cost.USD)
		}
	})
}

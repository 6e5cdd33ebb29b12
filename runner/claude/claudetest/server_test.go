package claudetest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

// ask sends messages, each "role: text" or a whole JSON message, and returns
// what came back, "cut: " before what broke off.
func ask(t *testing.T, s *ct.Server, stream bool, messages ...string) string {
	t.Helper()
	for i, m := range messages {
		if role, text, ok := strings.Cut(m, ": "); ok && !strings.HasPrefix(m, "{") {
			messages[i] = `{"role":"` + role + `","content":"` + text + `"}`
		}
	}
	body := `{"model":"m","messages":[` + strings.Join(messages, ",") + `]`
	if stream {
		body += `,"stream":true`
	}
	r, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(body+"}"))
	if err != nil {
		return "cut: "
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return "cut: " + string(data)
	}
	return r.Status[:3] + " " + string(data)
}

// TestRepliesAreChosen holds by what a reply is chosen: the last user text, the
// assistant's messages since, and how often the rule was used.
func TestRepliesAreChosen(t *testing.T) {
	result := `{"role":"user","content":[{"type":"tool_result","content":"out"}]}`
	reminded := `{"role":"user","content":[{"type":"text","text":"loop"},{"type":"text","text":"<system-reminder>flaky"}]}`
	s := ct.NewServer(t,
		ct.On("loop", ct.Say("step0"), ct.Say("step1"), ct.Say("step2")),
		ct.Rule{Match: "flaky", FailFirst: 1, Fail: ct.Fail(529), Sequence: []ct.Reply{ct.Say("seq0"), ct.Say("seq1")}})
	tests := []struct {
		messages []string
		want     string
	}{
		{[]string{"user: a loop"}, "step0"},
		{[]string{"user: a loop"}, "step0"}, // a retry is no step
		{[]string{"user: a loop", "assistant: x", result}, "step1"},
		{[]string{"user: old", "assistant: x", reminded, "assistant: y", result, "system: flaky", "assistant: z", result}, "step2"},
		{[]string{"user: loop", "assistant: x", result, "assistant: y", result, "assistant: z", result}, "step2"},
		{[]string{"user: flaky"}, "529 "},
		{[]string{"user: flaky"}, "seq0"},
		{[]string{"user: loop", "assistant: x", "user: flaky"}, "seq1"},
		{[]string{"user: flaky"}, "seq1"},
		{[]string{"user: something else"}, `"ok"`},
	}
	for _, tt := range tests {
		if got := ask(t, s, false, tt.messages...); !strings.Contains(got, tt.want) {
			t.Errorf("%v: got %s, want %s", tt.messages, got, tt.want)
		}
	}
	want := "user: old\nassistant: x\nuser: loop\nassistant: y\nuser: [= out]\nassistant: z\nuser: [= out]\n"
	if diff := cmp.Diff(want, s.Requests()[3].Conversation()); diff != "" {
		t.Errorf("conversation (-want +got):\n%s", diff)
	}
}

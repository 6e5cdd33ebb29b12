package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/raymond-action/raymond-action/runner/simulate"
)

// debugFolder is the recording of a run, made by hand.
type debugFolder fstest.MapFS

func (d debugFolder) file(name, text string) { d[name] = &fstest.MapFile{Data: []byte(text)} }

// attempt adds an attempt of a prompt that says a text, with more of its result.
func (d debugFolder) attempt(execution, attempt int, more, text string) {
	folder := fmt.Sprintf("%04d_main_A.md_%d", execution, attempt)
	d.file(folder+"/result.json", fmt.Sprintf(
		`{"agent":"main","state":"A.md","kind":"prompt","attempt":%d,%s}`, attempt, more))
	d.file(folder+"/stdout.jsonl", fmt.Sprintf(`{"type":"system","subtype":"init","session_id":"s","model":"m"}
{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"text","text":%q}]}}
{"type":"result","subtype":"success","is_error":false,"result":"","stop_reason":"end_turn","num_turns":1,"session_id":"s","total_cost_usd":0.5}
`, text))
}

func recordOf(t *testing.T, d debugFolder) *simulate.Replies {
	t.Helper()
	r, err := simulate.Record(fstest.MapFS(d))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func texts(list []simulate.Reply) string {
	var out []string
	for _, r := range list {
		out = append(out, string(r.Text))
	}
	return strings.Join(out, " ")
}

// TestRecordKeepsTheOrder: names of folders sort otherwise than their numbers.
func TestRecordKeepsTheOrder(t *testing.T) {
	d := debugFolder{}
	want := []string{}
	for i := 1; i <= 11; i++ {
		d.attempt(9999, i, `"ok":false,"verdict":{"attempt":1,"done_when_results":[{"cmd":"x","rc":1}]}`, fmt.Sprint("try", i))
		want = append(want, fmt.Sprint("try", i))
	}
	d.attempt(9999, 11, `"ok":true,"transition":{"tag":"goto","target":"A.md"}`, "try11")
	d.attempt(10000, 1, `"ok":true,"transition":{"tag":"result","target":""}`, "<result>last</result>")
	r := recordOf(t, d)
	if got := texts(r.States["A.md"]); got != strings.Join(want, " ")+" <result>last</result>" {
		t.Errorf("replies: got %q, want those of 11 attempts in order, then the last", got)
	}
	if e := r.Expect; !slices.Equal(e.Path["main"], []string{"A.md", "A.md"}) || e.Status != "completed" || *e.Result != "last" {
		t.Errorf("expect: got %+v, want a completed run of two executions", e)
	}
	if got := r.States["A.md"][0].Checks; !slices.Equal(got, []int{1}) {
		t.Errorf("checks: got %v, want [1]", got)
	}
}

// TestRecordSaysHowTheRunEnded, as far as the folders tell.
func TestRecordSaysHowTheRunEnded(t *testing.T) {
	for _, c := range []struct{ result, status string }{
		{`"ok":true,"transition":{"tag":"result","target":""}`, "completed"},
		{`"ok":true,"transition":{"tag":"goto","target":"B.md"}`, ""}, // over a limit: not followed
		{`"ok":false,"error":"there is no transition tag"`, "failed"},
	} {
		d := debugFolder{}
		d.attempt(1, 1, c.result, "x")
		if got := recordOf(t, d).Expect.Status; got != c.status {
			t.Errorf("a run that ends with %s: got the status %q, want %q", c.result, got, c.status)
		}
	}
}

// TestRecordOfAnAgentThatNeverStarted: there is no output to judge.
func TestRecordOfAnAgentThatNeverStarted(t *testing.T) {
	d := debugFolder{}
	d.attempt(1, 1, `"ok":false,"error":"the agent CLI is missing"`, "")
	delete(d, "0001_main_A.md_1/stdout.jsonl")
	d.file("notes.txt", "not ours")
	d.file("other/result.json", "not ours")
	r := recordOf(t, d)
	if e := r.States["A.md"][0].Error; e == nil || e.Class != "fatal" || e.Message != "the agent CLI is missing" {
		t.Errorf("reply: got %+v, want a fatal error with that message", r.States["A.md"][0])
	}
}

func TestRecordRefusesOtherFolders(t *testing.T) {
	for name, d := range map[string]debugFolder{
		"empty":  {},
		"no run": {"a/result.json": &fstest.MapFile{Data: []byte("{}")}},
		"broken": {"0001_main_A.md_1/result.json": &fstest.MapFile{Data: []byte("{")}},
	} {
		if r, err := simulate.Record(fstest.MapFS(d)); err == nil {
			t.Errorf("%s: got %+v, want an error", name, r)
		}
	}
}

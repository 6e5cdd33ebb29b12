package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// read writes output to a stream in chunks of n bytes. It returns the result for exit code 0 and all
// progress reports.
func read(o runner.Order, output string, n int) (runner.Answer, *runner.Failure, []runner.Progress) {
	var progress []runner.Progress
	s := newStream(o, func(p runner.Progress) { progress = append(progress, p) })
	for len(output) > 0 {
		piece := output[:min(n, len(output))]
		_, _ = s.Write([]byte(piece))
		output = output[len(piece):]
	}
	s.flush()
	a, f := s.answer(proc.Exit{})
	return a, f, progress
}

// TestOutputs checks the message and the costs in recorded outputs, which are written in small chunks.
func TestOutputs(t *testing.T) {
	clitest.Replay(t, func(_ *testing.T, c clitest.Recording) (got clitest.Result) {
		got.Answer, got.Failure, _ = read(runner.Order{Prompt: runner.PromptOrder{Session: c.Mode, Model: "asked"}}, string(c.Stdout), 7)
		return got
	})
}

// TestReportedErrorsAreClassified checks the failure for each class of error. The program's other output
// must not affect it.
func TestReportedErrorsAreClassified(t *testing.T) {
	t.Parallel()
	until := time.Unix(2_000_000_000, 0).UTC()
	for class, want := range map[string]runner.Failure{
		"authentication": {Class: runner.Fatal, Message: "authentication: said"},
		"rate_limit":     {Class: runner.Service, NotBefore: until, Message: "rate limit: said"},
		"usage_limit":    {Class: runner.UsageLimit, Reset: until, Message: "usage limit: said"},
		"overloaded":     {Class: runner.Service, NotBefore: until, Message: "overloaded: said"},
		"session_gone":   {Class: runner.Fatal, Message: "session gone: said"},
		"invalid":        {Class: runner.Fatal, Message: "bad request: said"},
		"other":          {Class: runner.Transient, Message: "the agent command reports: said"},
		"unheard of":     {Class: runner.Transient, Message: "the agent command reports: said"},
	} {
		for _, when := range []string{"2000000000", `"2000000000"`, `"2033-05-18T03:33:20Z"`, `"2033-05-18T05:33:20+02:00"`} {
			output := `{"type":"text","text":"<result>x</result>"}` + "\n" + `{"type":"error","class":"` + class + `","message":"said","until":` + when + "}\n"
			_, f, _ := read(runner.Order{}, output, 1<<20)
			if f == nil {
				t.Errorf("class %s: got no failure, want %v", class, want)
			} else if d := cmp.Diff(want, *f); d != "" {
				t.Errorf("class %s until %s (-want +got):\n%s", class, when, d)
			}
		}
	}
	for _, class := range []string{"invalid", "other"} { // the words of the message are more specific than these classes
		_, f, _ := read(runner.Order{}, `{"type":"error","class":"`+class+`","message":"Credit balance is too low"}`, 100)
		assert.Check(t, f != nil && f.Message == "billing: Credit balance is too low", "class %s: got %v", class, f)
	}
	for _, when := range []string{"-1", "1e300", `"soon"`, "{}", `""`, "null"} {
		_, f, _ := read(runner.Order{}, `{"type":"error","class":"usage_limit","until":`+when+"}", 100)
		if f == nil || f.Class != runner.UsageLimit || !f.Reset.IsZero() {
			t.Errorf("until %s: got %+v, want a usage limit that ends nobody knows when", when, f)
		}
	}
}

// TestSessionAndTokensAreReportedAtOnce checks that the session and the tokens so far are reported
// immediately, so that they are known after a crash.
func TestSessionAndTokensAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, _, progress := read(runner.Order{}, `{"type":"session","id":"s.1"}
{"type":"session","id":"s.1"}
{"type":"cost","model":"m","input":3}
{"type":"cost","model":"m","input":4}
`, 1<<20)
	var sessions []string
	var last runner.MeteredUsage
	for _, p := range progress {
		if p.CLIID != "" {
			sessions = append(sessions, p.CLIID)
		}
		if p.Metered != nil {
			last = *p.Metered
		}
	}
	assert.Check(t, is.DeepEqual(sessions, []string{"s.1"}), "sessions that were reported")
	assert.Check(t, is.DeepEqual(last, runner.MeteredUsage{{Model: "m", Input: 7}}), "tokens that were reported last")
}

// TestInvalidSessionsEndTheProgram checks that an invalid session id ends the program.
func TestInvalidSessionsEndTheProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    runner.PromptOrder
		id   string
		want string
	}{
		{runner.PromptOrder{Session: state.Fresh, SessionID: "ours"}, "theirs", ""},
		{runner.PromptOrder{Session: state.Resume, SessionID: "ours", CLIID: "theirs"}, "theirs", ""},
		{runner.PromptOrder{Session: state.Resume, SessionID: "ours", CLIID: "theirs"}, "another", ""},
		{runner.PromptOrder{Session: state.Branch, SessionID: "ours", CLIID: "theirs"}, "another", ""},
		{runner.PromptOrder{Session: state.Branch, SessionID: "ours", CLIID: "theirs"}, "theirs", "was continued, not branched"},
		{runner.PromptOrder{Session: state.Fresh}, "../x", "not a valid id"},
		{runner.PromptOrder{Session: state.Fresh}, "", ""},
	} {
		a, f, _ := read(runner.Order{Prompt: c.o}, `{"type":"session","id":"`+c.id+`"}`, 100)
		switch {
		case c.want != "" && (f == nil || f.Class != runner.Fatal || !strings.Contains(f.Message, c.want)):
			t.Errorf("session %q of %+v: got %v, want a failure with %q", c.id, c.o, f, c.want)
		case c.want == "" && (f != nil || a.CLIID != c.id || a.SessionID != c.o.SessionID):
			t.Errorf("session %q of %+v: got %q, %q, %v, want it, and ours", c.id, c.o, a.CLIID, a.SessionID, f)
		}
	}
}

// TestMemoryIsBounded checks that messages and lines that never end use limited memory, and that the
// program is then ended.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, o := range map[string]struct{ head, repeated string }{
		"lines of text":        {"a\n", long + "\n"},
		"one record":           {`{"type":"text","text":"`, long},
		"a line after records": {`{"type":"tool","name":"x"}` + "\n", long},
	} {
		var early error
		s := newStream(runner.Order{}, nil)
		s.Abort = func(err error) { early = err }
		_, _ = s.Write([]byte(o.head))
		for range 60 {
			_, _ = s.Write([]byte(o.repeated))
			n := s.message.Cap()
			assert.Assert(t, n <= 40<<20, "%s: got %d bytes in memory, want fewer", name, n)
		}
		s.flush()
		if _, f := s.answer(proc.Exit{Ended: proc.ByStop}); f == nil || f.Class != runner.Fatal || early == nil {
			t.Errorf("%s: got %v, want the program ended for its size", name, f)
		}
	}
}

// TestSecretsAreHiddenBeforeTextsAreCut checks that no part of a secret occurs in progress texts and
// failures.
func TestSecretsAreHiddenBeforeTextsAreCut(t *testing.T) {
	t.Parallel()
	const secret = "the-secret-of-the-job"
	hide := func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	at := strings.Repeat("x", 490) + " " + secret
	output := `{"type":"tool","name":"` + secret + `","input":{"command":"` + strings.Repeat("y", 110) + secret + `"}}
{"type":"text","text":"` + secret + `"}
{"type":"error","message":"` + at + `"}`
	_, f, progress := read(runner.Order{Hide: hide, Verbosity: runner.VerbosityFull}, output, 1<<20)
	shown := f.Message
	for _, p := range progress {
		shown += p.Text + p.Activity
	}
	assert.Check(t, !strings.Contains(shown, secret[:5]), "got %q, want no part of the secret in it", shown)
	assert.Check(t, is.Contains(shown, "***("))
}

// TestReaderFollowsTheSchema checks that the reader accepts exactly those lines that the schema allows.
func TestReaderFollowsTheSchema(t *testing.T) {
	t.Parallel()
	compiled, err := jsonschema.NewCompiler().Compile("../../docs/schema/command.schema.json")
	assert.NilError(t, err)
	for line, want := range map[string]bool{
		`{"type":"text","text":"x"}`:                                          true,
		`{"type":"text","text":7}`:                                            false,
		`{"type":"session","id":"ses_1"}`:                                     true,
		`{"type":"session","id":"../x"}`:                                      false,
		`{"type":"cost","usd":0.1}`:                                           true,
		`{"type":"cost","model":"m","input":1,"cached":2,"output":3,"usd":0}`: true,
		`{"type":"cost","usd":-1}`:                                            false,
		`{"type":"cost","model":"m"}`:                                         false,
		`{"type":"tool","name":"x","input":[{"a":null}]}`:                     true,
		`{"type":"error","class":"rate_limit","message":"x","until":1}`:       true,
		`{"type":"error"}`:                                                    true,
		`{"type":"else"}`:                                                     false,
		`[]`:                                                                  false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		assert.NilError(t, err)
		s := newStream(runner.Order{}, nil)
		r, got := parse([]byte(line))
		got = got && s.take(r) && s.EarlyFailure == nil
		if allows := compiled.Validate(value) == nil; allows != want || got != want {
			t.Errorf("%s: the schema allows it: %v, the reader takes it: %v, want %v", line, allows, got, want)
		}
	}
	text, err := os.ReadFile("../../docs/schema/command.schema.json")
	assert.NilError(t, err)
	classes, err := json.Marshal([]string{classAuthentication, classRateLimit, classUsageLimit, classOverloaded, classSessionGone, classInvalid, classOther})
	assert.NilError(t, err)
	want := strings.ReplaceAll(string(classes), ",", ", ")
	assert.Check(t, is.Contains(string(text), want), "the schema lacks the classes %s", want)
}

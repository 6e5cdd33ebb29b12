package claude

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/claude/permit"
	"github.com/raymond-action/raymond-action/state"
)

// TestContractCosts: each process is booked with what it cost, in a new
// conversation, in one that goes on, and in a branch, whatever the CLI counts.
func TestContractCosts(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, ct.On("", ct.Reply{Blocks: []ct.Block{ct.Text("ok")}, Usage: &ct.Usage{Input: 100_000, Output: 1000}}))
	b, o := realCLI(t, s), order(t, "one")
	o.Prompt.Model = "sonnet"
	first := answer(t, b, o).Cost
	if first.Kind != state.Exact || first.USD == 0 || len(first.Usage) != 1 {
		t.Fatalf("first: got %+v, want an exact cost of one model", first)
	}
	for i, mode := range []state.SessionMode{state.Resume, state.Branch, state.Resume, state.Fresh} {
		next := o
		next.Prompt.Session, next.Prompt.Text = mode, fmt.Sprint("more ", i)
		switch mode {
		case state.Branch:
			next.Prompt.From, next.Prompt.SessionID = o.Prompt.SessionID, uuid.NewString()
		case state.Fresh:
			next.Prompt.SessionID = uuid.NewString()
		}
		c := answer(t, b, next).Cost
		if c.Kind != state.Exact || c.USD != first.USD || len(c.Usage) != 1 || c.Usage[0].CostUSD != first.USD || c.Usage[0].Input != 100_000 {
			t.Errorf("process %d, %s: got %+v, want %s as the first", i+2, mode, c, first.USD)
		}
	}
}

// TestContractFailedCallsCost: what fails in a conversation books nothing of what the
// conversation had cost before, and what is asked again is paid once.
func TestContractFailedCallsCost(t *testing.T) {
	t.Parallel()
	ok := ct.Reply{Blocks: []ct.Block{ct.Text("ok")}, Usage: &ct.Usage{Input: 100_000, Output: 1000}}
	broken := ok
	broken.Blocks, broken.Drop = []ct.Block{ct.Text("half of it and no more")}, ct.Middle
	s := ct.NewServer(t, ct.On("fail", ct.Fail(500)), ct.Rule{Match: "again", FailFirst: 1, Fail: ct.Fail(529), Steps: []ct.Reply{ok}},
		ct.Rule{Match: "broken", FailFirst: 1, Fail: broken, Steps: []ct.Reply{ok}}, ct.On("", ok))
	b, o := realCLI(t, s), order(t, "one")
	o.Prompt.Model = "sonnet"
	first := answer(t, b, o).Cost
	o.Prompt.Session = state.Resume
	for _, prompt := range []string{"fail", "more", "again", "fail once more", "broken", "the last"} {
		o.Prompt.Text = prompt
		a, f, _ := run(t.Context(), t, b, o)
		c := a.Cost
		if strings.HasPrefix(prompt, "fail") {
			if f == nil || f.Class != runner.Service || c.USD != 0 || len(c.Beyond) > 0 || !c.Silent {
				t.Errorf("%s: got %+v, cost %+v, want a failure of the service that costs nothing", prompt, f, c)
			}
			continue
		}
		// Whether the CLI has taken in the beginning of an answer before its connection
		// breaks is a matter of the moment; newer versions never count it.
		input, once := inputOf(usageOf(c.Usage))+inputOf(c.Beyond), int64(100_000)
		twice := prompt == "broken" && input == 2*once
		if f != nil || c.Kind != state.Exact || !twice && (input != once || c.USD != first.USD) {
			t.Errorf("%s: got %+v, cost %+v, want %s as the first", prompt, f, c, first.USD)
		}
	}
}

// inputOf is the sum of what went in.
func inputOf(list []state.Usage) (sum int64) {
	for _, u := range list {
		sum += u.Input
	}
	return sum
}

// TestContractCutAnswersAreMetered stops the CLI in mid-answer: what the message began
// with is known, whichever way the process ends, and was told before.
func TestContractCutAnswersAreMetered(t *testing.T) {
	t.Parallel()
	began := ct.Usage{Input: 100_000, Output: 500, CacheWrite: 1000, CacheRead: 5000}
	s := ct.NewServer(t, ct.On("", ct.Reply{Blocks: []ct.Block{ct.Text("half of it and no more")}, Usage: &began, Hang: ct.Middle}))
	o := order(t, "go")
	o.Prompt.Model, o.Idle = "sonnet", patience
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var told []runner.Metered
	a, err := realCLI(t, s).Run(ctx, o, func(p runner.Progress) {
		if p.Metered != nil {
			told = append(told, *p.Metered)
			cancel(&runner.Stopping{Reason: "cancelled", Term: 2 * time.Second, Kill: time.Second})
		}
	})
	if err == nil {
		t.Fatalf("got %+v, want that it is ended", a)
	}
	sum := state.Usage{}
	for _, u := range append(usageOf(a.Cost.Usage), a.Cost.Beyond...) {
		sum.Input, sum.CacheWrite, sum.CacheRead, sum.Output = sum.Input+u.Input, sum.CacheWrite+u.CacheWrite, sum.CacheRead+u.CacheRead, sum.Output+u.Output
	}
	if sum.Input != 100_000 || sum.CacheWrite != 1000 || sum.CacheRead != 5000 || sum.Output < 1 || a.Cost.Silent {
		t.Errorf("got %+v, want the tokens that the message began with", a.Cost)
	}
	if len(told) == 0 || len(told[0]) != 1 || told[0][0].Input != 100_000 {
		t.Errorf("told while it ran: got %+v, want the message's beginning", told)
	}
}

// refused are commands that the CLI refuses, each of programs of its own, so that
// all advice can be tried at once. Of those in hopeless no rule is advised.
var refused = []string{
	"x01 test", "x02 --version-of y", "x03 ci && x04 test -- --all", "cd sub && x05 run", "x06 test 2>&1 | tail -5", "x07 -C sub > out.txt",
	"x08 | tee x08.txt", "A09=1 x09 test -w y", "NODE_ENV=test x10 test", "timeout 10 x11 test", "bash -c 'x12 all'", "bash -c 'x13\ny'",
	"python3 -c 'print(1)'", "x14 commit -m \"a\n\nb\"", "for i in 1 2; do x15 $i; done", "for i in 1 2; do x16 y; done", "x17 \"$(date)\"",
	"if x18; then x19 a; fi", "x20 'a, b', c && x21 d", "x22 <<'E'\n$x\nE", "x23 *.go", "x24 a\nx25 b", "x26 || exit 3", "export X27=1; x27 a",
	"sudo x28 start", "./x29.sh", "x30 $Y > x30.txt", "find . -name x31 -exec rm {} \\;", "source x32.sh", "x33 /etc/x33",
}

var hopeless = []string{
	"cd / && x50 a", "cd sub && x51 > y", "x52 > /var/x52", "x53 <<E\n$x\nE", "x54 | tee /var/x54", "for i in *; do x55 $i; done",
	"case x in x) x56;; esac", "cat /etc/passwd", "cd sub && git commit -m x57",
}

// TestContractRules: a rule that is advised lets pass what was refused, on the real
// CLI; and where none is advised, the CLI's own reason is there.
func TestContractRules(t *testing.T) {
	t.Parallel()
	all := append(append([]string{}, refused...), hopeless...)
	var blocks []ct.Block
	for _, command := range all {
		blocks = append(blocks, ct.Bash(command))
	}
	s := ct.NewServer(t, ct.On("work", ct.Do(blocks...), ct.Say("done")))
	b, o := realCLI(t, s), order(t, "work")
	o.Prompt.Permissions.PermissionMode = "acceptEdits"
	first, uses := refusalsOf(t, b, o)
	for _, command := range all {
		why, ok := first[command]
		if !ok || why == "" {
			t.Errorf("%q: got reason %q, want it refused and told why", command, why)
			continue
		}
		advice := permit.Advise(permit.Use{Tool: "Bash", Input: map[string]string{"command": command}, Reason: why, Dir: o.Dir})
		if isHopeless := strings.Contains(strings.Join(hopeless, "\x00"), command); isHopeless != (len(advice.Rules) == 0) {
			t.Errorf("%q, refused with %q: advice %q", command, why, advice.Rules)
		}
		o.Prompt.Permissions.AllowedTools = append(o.Prompt.Permissions.AllowedTools, advice.Rules...)
	}
	if uses != len(all) {
		t.Errorf("refused uses: got %d, want %d", uses, len(all))
	}
	o.Prompt.SessionID = uuid.NewString()
	second, _ := refusalsOf(t, b, o)
	for _, command := range refused {
		if why, ok := second[command]; ok {
			t.Errorf("%q: refused again, with %q, although what was advised is allowed: %q", command, why, o.Prompt.Permissions.AllowedTools)
		}
	}
}

// refusalsOf returns why commands were refused.
func refusalsOf(t *testing.T, b *Backend, o runner.Order) (map[string]string, int) {
	t.Helper()
	c, f := b.finder.Find(t.Context(), b.source(), o, func(string) {})
	if f != nil {
		t.Fatal(f)
	}
	st := newStream(o, func(runner.Progress) {})
	a, f := b.invoke(t.Context(), c.Path, st)
	if f != nil {
		t.Fatal(f)
	}
	for _, note := range a.Notes {
		if strings.Contains(note, "no records") {
			t.Errorf("note %q: want every line to be a record", note)
		}
	}
	why := map[string]string{}
	for _, d := range st.verdict.last.Denials {
		why[texts(d.Input)["command"]] = st.reasons[d.Use]
	}
	return why, len(a.Denied)
}

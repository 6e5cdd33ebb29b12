package runner_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// disk has the transcripts of agent CLIs, by the agent and its own id. It outlives the
// processes of a run.
type disk struct {
	mu      sync.Mutex // guards what follows
	talks   map[string]string
	threads int
	heard   []string // what the model knew in the invocations that came to an end
}

// vendor is an agent CLI with transcripts. What it says is the cast's.
type vendor struct {
	*cast
	disk *disk
	can  runner.Abilities
}

func (v *vendor) Abilities() runner.Abilities { return v.can }

// key is where the transcript of a conversation is: by the CLI's own id, or ours.
func (v *vendor) key(id, cli string) string { return v.can.Backend + " " + cmp.Or(cli, id) }

func (v *vendor) Length(k runner.Conversation) (int64, bool) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	said, ok := v.disk.talks[v.key(k.ID, k.CLI)]
	return int64(len(said)), ok
}

// open finds or begins the conversation of an order, and returns its key and the id that the
// CLI tells.
func (v *vendor) open(p runner.PromptOrder) (key, told string, err error) {
	d := v.disk
	if !v.can.ChoosesID && p.Session == state.Fresh {
		d.threads++
		told = fmt.Sprintf("thread-%d", d.threads)
	}
	key = v.key(p.SessionID, told)
	from := v.key(cmp.Or(p.From, p.SessionID), p.CLIID)
	switch said, ok := d.talks[from]; {
	case p.Session == state.Fresh:
		d.talks[key] = ""
	case !ok:
		return "", "", &runner.Failure{Class: runner.Fatal, Message: "session gone: " + from}
	case p.Session == state.Branch:
		d.talks[key] = said
	default:
		key, told = from, p.CLIID
		if p.Cut != nil {
			d.talks[key] = said[:*p.Cut]
		}
	}
	return key, told, nil
}

func (v *vendor) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if o.Prompt.Backend != v.can.Backend {
		return runner.Answer{}, &runner.Failure{Class: runner.Fatal, Message: "order for " + o.Prompt.Backend}
	}
	v.disk.mu.Lock()
	key, told, err := v.open(o.Prompt)
	if err == nil {
		v.disk.talks[key] += "> " + o.Prompt.Text + "\n"
	}
	v.disk.mu.Unlock()
	if err != nil {
		return runner.Answer{}, err
	}
	if told != "" {
		tell(runner.Progress{CLIID: told})
	}
	a, err := v.cast.Run(ctx, o, tell)
	if a.CLIID = told; told != "" {
		a.SessionID = ""
	}
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if ctx.Err() == nil {
		v.disk.heard = append(v.disk.heard, o.Agent+" "+v.can.Backend+"\n"+v.disk.talks[key])
	}
	v.disk.talks[key] += a.Text + "\n"
	return a, err
}

// vendors gives a loop two agent CLIs: claude, which takes our ids, and codex, which tells its
// own of a new conversation as soon as it runs, and takes ours for a branch.
func (l *loop) vendors() *loop {
	l.disk = &disk{talks: map[string]string{}}
	all := runner.Abilities{ChoosesID: true, ReportsUSD: true}
	first, second := all, all
	first.Backend, second.Backend, second.ChoosesID = protocol.BackendClaude, protocol.BackendCodex, false
	l.cfg.Agents = map[string]runner.AgentCLI{
		protocol.BackendClaude: &vendor{cast: l.cast, disk: l.disk, can: first}, protocol.BackendCodex: &vendor{cast: l.cast, disk: l.disk, can: second},
	}
	return l
}

// mixed is a workflow in which two agent CLIs take turns in all ways that there are, with
// reminders, failures, attempts, and a state to go to when these are used up.
func mixed(t *testing.T) *loop {
	l := newLoop(t, flow{
		"A":    "---\ndone_when: [check]\n---\ntry {{attempt}}\n<fork next=\"B\">W</fork>",
		"W":    "---\nagent: codex\nmodel: w\n---\n<goto>W2</goto>",
		"W2":   `<call return="W3">WSUB</call>`,
		"WSUB": "<goto>WEND</goto>",
		"WEND": "<result>sub</result>",
		"W3":   `<function return="W4" agent="claude">F</function>`,
		"W4":   "<result>w</result>",
		"B":    "<goto>B2</goto>",
		"B2":   `<function return="B3" agent="codex">F</function>`,
		"B3":   "---\ndone_when: [check]\nmax_attempts: 1\non_exhausted: C\n---\n<result>x</result>",
		"F":    "<goto>F2</goto>",
		"F2":   "<result>f</result>",
		"C":    "---\nagent: codex\ndone_when: [check]\nattempt_context: continue\n---\n<result>done</result>",
	}, func(o *state.Options) { o.MaxParallel, o.Model, o.Effort = 2, "m", "high" })
	l.says["W.md"] = []string{"no tag", "<goto>W2</goto>"}
	l.says["WSUB.md"] = []string{"transient!died", "<goto>WEND</goto>"}
	l.passes = map[string]int{"A.md": 3, "C.md": 2}
	return l.vendors()
}

// by says for each prompt which agent CLI ran it, with which model and effort.
func by(l *loop) []string {
	var out []string
	for _, o := range l.orders {
		p := o.Prompt
		out = append(out, strings.TrimRight(fmt.Sprint(o.Agent, " ", strings.TrimSuffix(o.State, ".md"), " ", p.Backend, " ", p.Model, " ", p.Effort), " "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestWhoRunsAPrompt: the agent of the function's tag, else that of the state, else the one
// that the conversation belongs to, else the run's; model and effort of the run are for the
// run's own.
func TestWhoRunsAPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mixed(t)
		l.drive(false, state.Completed)
		same(t, "prompts", []string{
			"main A claude m high", "main B claude m high", "main B2 claude m high", "main B3 claude m high", "main C codex",
			"main F codex", "main F2 codex",
			"main_w1 F claude m high", "main_w1 F2 claude m high",
			"main_w1 W codex w", "main_w1 W2 codex w", "main_w1 W3 codex w", "main_w1 W4 codex w", "main_w1 WEND codex w", "main_w1 WSUB codex w",
		}, by(l))
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<reset>B</reset>", "B": "---\nagent: claude\n---\n<result>b</result>"},
			func(o *state.Options) { o.Backend, o.Model = protocol.BackendCodex, "m" })
		l.vendors()
		l.drive(false, state.Completed)
		same(t, "prompts of a run by codex", []string{"main A codex m", "main B claude"}, by(l))
	})
}

// TestTheIDThatAnAgentTellsIsSavedAtOnce, before the invocation ends.
func TestTheIDThatAnAgentTellsIsSavedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "---\nagent: codex\n---\n<call return=\"B\">S</call>", "S": "<result>s</result>", "B": "<result>b</result>"}, nil)
		l.vendors()
		l.drive(false, state.Completed)
		var ids []string
		for _, data := range l.store.saves {
			if e := decoded(t, data).Agents; len(e) > 0 && e[0].Exec != nil && e[0].Exec.Running != nil {
				r := e[0].Exec.Running
				ids = append(ids, fmt.Sprintf("%s %q %q", r.Mode, r.CLIID, r.FromCLIID))
			}
		}
		same(t, "running invocations", []string{
			`fresh "" ""`, `fresh "thread-1" ""`, `branch "" "thread-1"`, `resume "thread-1" ""`,
		}, slices.Compact(ids))
	})
}

// TestAnotherAgentIsNeeded than the one whose conversation it is, or one that the run has: that fails the agent before any prompt
// of the state, and again at each resume.
func TestAnotherAgentIsNeeded(t *testing.T) {
	for _, name := range []string{"codex", "gemini"} { // the run has the first
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "<goto>X</goto>", "X": "---\nagent: " + name + "\n---\n<result>x</result>"}, nil).vendors()
			l.drive(false, state.Failed)
			l.drive(true, state.Failed)
			same(t, "prompts", []string{"main A claude"}, by(l))
			assert.Check(t, is.Contains(l.run.Agents[0].Failure.Message, name), "failure")
		})
	}
}

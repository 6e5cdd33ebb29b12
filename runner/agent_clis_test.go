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

// disk contains the transcripts of agent CLIs, by CLI and conversation id. A run that is resumed in
// another process keeps its disk.
type disk struct {
	mu          sync.Mutex // guards the fields below
	transcripts map[string]string
	threads     int
	complete    []string // the conversation at the end of each invocation, as the model saw it
}

// vendor is a fake agent CLI that writes transcripts. Its script supplies the answers.
type vendor struct {
	*script
	disk      *disk
	abilities runner.Abilities
}

// Abilities implements runner.AgentCLI.
func (v *vendor) Abilities() runner.Abilities { return v.abilities }

// key returns the key of a conversation's transcript: the CLI's own id, or the id that the
// runner chose.
func (v *vendor) key(id, cli string) string { return v.abilities.Backend + " " + cmp.Or(cli, id) }

// Length implements runner.AgentCLI.
func (v *vendor) Length(k runner.Conversation) (int64, bool) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	text, ok := v.disk.transcripts[v.key(k.ID, k.CLI)]
	return int64(len(text)), ok
}

// open finds or begins the conversation that an order names. It returns the key of the transcript
// and the id that the CLI reports for the conversation.
func (v *vendor) open(p runner.PromptOrder) (key, reportedID string, err error) {
	d := v.disk
	if !v.abilities.ChoosesID && p.Session == state.Fresh {
		d.threads++
		reportedID = fmt.Sprintf("thread-%d", d.threads)
	}
	key = v.key(p.SessionID, reportedID)
	from := v.key(cmp.Or(p.From, p.SessionID), p.CLIID)
	switch text, ok := d.transcripts[from]; {
	case p.Session == state.Fresh:
		d.transcripts[key] = ""
	case !ok:
		return "", "", &runner.Failure{Class: runner.Fatal, Message: "session gone: " + from}
	case p.Session == state.Branch:
		d.transcripts[key] = text
	default:
		key, reportedID = from, p.CLIID
		if p.Cut != nil {
			d.transcripts[key] = text[:*p.Cut]
		}
	}
	return key, reportedID, nil
}

// Run implements runner.AgentCLI. It adds the prompt and the answer to the transcript.
func (v *vendor) Run(ctx context.Context, o runner.Order, report func(runner.Progress)) (runner.Answer, error) {
	if o.Prompt.Backend != v.abilities.Backend {
		return runner.Answer{}, &runner.Failure{Class: runner.Fatal, Message: "order for " + o.Prompt.Backend}
	}
	v.disk.mu.Lock()
	key, reportedID, err := v.open(o.Prompt)
	if err == nil {
		v.disk.transcripts[key] += "> " + o.Prompt.Text + "\n"
	}
	v.disk.mu.Unlock()
	if err != nil {
		return runner.Answer{}, err
	}
	if reportedID != "" {
		report(runner.Progress{CLIID: reportedID})
	}
	a, err := v.script.Run(ctx, o, report)
	if a.CLIID = reportedID; reportedID != "" {
		a.SessionID = ""
	}
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if ctx.Err() == nil {
		v.disk.complete = append(v.disk.complete, o.Agent+" "+v.abilities.Backend+"\n"+v.disk.transcripts[key])
	}
	v.disk.transcripts[key] += a.Text + "\n"
	return a, err
}

// vendors gives a loop two agent CLIs. claude uses the ids that the runner chooses. codex reports
// its own id for a new conversation as soon as it runs, and uses the runner's id for a branch.
func (l *loop) vendors() *loop {
	l.disk = &disk{transcripts: map[string]string{}}
	all := runner.Abilities{ChoosesID: true, ReportsUSD: true}
	first, second := all, all
	first.Backend, second.Backend, second.ChoosesID = protocol.BackendClaude, protocol.BackendCodex, false
	l.cfg.Agents = map[string]runner.AgentCLI{
		protocol.BackendClaude: &vendor{script: l.script, disk: l.disk, abilities: first}, protocol.BackendCodex: &vendor{script: l.script, disk: l.disk, abilities: second},
	}
	return l
}

// mixed returns a run in which two agent CLIs take turns in all possible ways. The run contains
// reminders, failures, attempts, and a state that follows when the attempts are used up.
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
	l.answers["W.md"] = []string{"no tag", "<goto>W2</goto>"}
	l.answers["WSUB.md"] = []string{"transient!died", "<goto>WEND</goto>"}
	l.passes = map[string]int{"A.md": 3, "C.md": 2}
	return l.vendors()
}

// promptRuns returns which agent CLI ran each prompt, with which model and effort.
func promptRuns(l *loop) []string {
	var out []string
	for _, o := range l.orders {
		p := o.Prompt
		out = append(out, strings.TrimRight(fmt.Sprint(o.Agent, " ", strings.TrimSuffix(o.State, ".md"), " ", p.Backend, " ", p.Model, " ", p.Effort), " "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestWhichCLIRunsPrompt checks which agent CLI runs a prompt: the one in the function tag, or else
// the state's, or else the conversation's, or else the run's. The run's model and effort apply only
// to the run's agent CLI.
func TestWhichCLIRunsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mixed(t)
		l.drive(false, state.Completed)
		same(t, "prompts", []string{
			"main A claude m high", "main B claude m high", "main B2 claude m high", "main B3 claude m high", "main C codex",
			"main F codex", "main F2 codex",
			"main_w1 F claude m high", "main_w1 F2 claude m high",
			"main_w1 W codex w", "main_w1 W2 codex w", "main_w1 W3 codex w", "main_w1 W4 codex w", "main_w1 WEND codex w", "main_w1 WSUB codex w",
		}, promptRuns(l))
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<reset>B</reset>", "B": "---\nagent: claude\n---\n<result>b</result>"},
			func(o *state.Options) { o.Backend, o.Model = protocol.BackendCodex, "m" })
		l.vendors()
		l.drive(false, state.Completed)
		same(t, "prompts of a run by codex", []string{"main A codex m", "main B claude"}, promptRuns(l))
	})
}

// TestConversationIDIsSavedAtOnce checks that the id which an agent CLI reports is saved before the
// invocation ends.
func TestConversationIDIsSavedAtOnce(t *testing.T) {
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

// TestWrongAgentCLIFails runs states that need an agent CLI which doesn't hold the conversation, or
// which the run doesn't have. It checks that the agent fails before any prompt of the state is
// sent, and again at each resume.
func TestWrongAgentCLIFails(t *testing.T) {
	for _, name := range []string{"codex", "gemini"} { // the run has codex, but claude holds the conversation
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "<goto>X</goto>", "X": "---\nagent: " + name + "\n---\n<result>x</result>"}, nil).vendors()
			l.drive(false, state.Failed)
			l.drive(true, state.Failed)
			same(t, "prompts", []string{"main A claude"}, promptRuns(l))
			assert.Check(t, is.Contains(l.run.Agents[0].Failure.Message, name), "failure")
		})
	}
}

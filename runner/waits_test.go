package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// scriptedPrompter answers some questions, each after a delay.
type scriptedPrompter struct {
	answers map[int]string // by question number
	delay   time.Duration
	updates chan runner.QuestionUpdate
	asked   map[int]bool
	open    int  // number of questions that will be answered
	stays   bool // true if IsSettled must return false while a question is open
	isOpen  bool
}

// newPrompter returns a prompter that gives each answer after delay. The keys of answers are
// question numbers.
func newPrompter(delay time.Duration, answers map[int]string) *scriptedPrompter {
	return &scriptedPrompter{answers: answers, delay: delay, updates: make(chan runner.QuestionUpdate, 9), asked: map[int]bool{}}
}

// UpdateQuestions implements runner.Prompter.
func (c *scriptedPrompter) UpdateQuestions(run *state.Run) {
	c.open, c.isOpen = 0, len(run.OpenQuestions()) > 0
	for _, a := range run.OpenQuestions() {
		q := a.Waits.Question
		text, answers := c.answers[q.Number]
		if answers {
			c.open++
		}
		if !answers || c.asked[q.Number] {
			continue
		}
		c.asked[q.Number] = true
		u := runner.QuestionUpdate{Agent: a.ID, Number: q.Number, Answer: &state.Answer{Text: text, By: "octocat"}}
		go func() {
			time.Sleep(time.Until(a.Waits.Since.Add(c.delay)))
			c.updates <- u
		}()
	}
}

// Updates implements runner.Prompter.
func (c *scriptedPrompter) Updates() <-chan runner.QuestionUpdate { return c.updates }

// HasRead implements runner.Prompter.
func (c *scriptedPrompter) HasRead(time.Time) bool { return c.open == 0 }

// IsSettled implements runner.Prompter.
func (c *scriptedPrompter) IsSettled() bool { return c.open == 0 && !(c.stays && c.isOpen) }

// waiters is a workflow with a wait of each kind: workers that wait for a time and then for
// another worker that they fork, a worker that asks twice, and a first agent that joins all
// workers.
var waiters = flow{
	"A":      `<fork next="SECOND">WORK</fork>`,
	"SECOND": `<fork next="THIRD">WORK</fork>`,
	"THIRD":  `<fork next="GATHER">ASKER</fork>`,
	"GATHER": `<join>POLL</join>`,
	"WORK":   `<reset after="10m" input="slept">FORKS</reset>`,
	"FORKS":  "{{result}}\n" + `<fork next="INNER">TIP</fork>`,
	"INNER":  `<join>DONE</join>`,
	"TIP":    `<goto after="30s">ENDTIP</goto>`,
	"ENDTIP": `<result>tip</result>`,
	"DONE":   "joined {{result}}\n<result>done</result>",
	"ASKER":  `<ask next="HEARD">Shall I?</ask>`,
	"HEARD":  "heard {{result}}\n" + `<ask next="DONE" timeout="20m" timeout_next="LATE">And now?</ask>`,
	"LATE":   `<result>late</result>`,
	"POLL":   "joined {{result}}\n" + `<goto after="2m">END</goto>`,
	"END":    `<result>end</result>`,
}

// newWaiters returns a run of waiters.
func newWaiters(t *testing.T) *loop {
	t.Helper()
	l := newLoop(t, waiters, func(o *state.Options) { o.MaxParallel = 2 })
	l.cfg.Hold = -1
	return l.vendors()
}

// finishWaiters drives a run of waiters to its end. If the run was not resumed, it also checks the
// results, and the time that the waits for the answer, the timeout and the poll take together.
func finishWaiters(l *loop, resumed bool) {
	l.t.Helper()
	began := time.Now()
	people := newPrompter(5*time.Minute, map[int]string{1: "yes"}) // lets the second question time out
	people.stays = true
	l.cfg.Prompter = people
	if l.drive(resumed, state.Completed); resumed {
		return
	}
	same(l.t, "took", 27*time.Minute, time.Since(began).Round(time.Minute))
	same(l.t, "results", []string{
		"main=end", "main_asker3=late", "main_work1=done", "main_work1_tip1=tip", "main_work2=done", "main_work2_tip1=tip",
	}, ended(l.run))
}

// TestHold checks that a run stays open for a wait that is not longer than Config.Hold, and for a
// retry however long that takes. It must not stay open for the timeout of a question.
func TestHold(t *testing.T) {
	const late = `<ask next="B" timeout="1m" timeout_next="B">?</ask>`
	for _, c := range []struct {
		answer string
		hold   time.Duration
		want   state.Status
		until  time.Duration
	}{
		{`<goto after="10m">B</goto>`, 10 * time.Minute, state.Completed, 0},
		{`<goto after="10m">B</goto>`, -1, state.Completed, 0},
		{`<goto after="10m">B</goto>`, 10*time.Minute - 1, state.Suspended, 10*time.Minute + agentTime},
		{`<goto after="1s">B</goto>`, 0, state.Suspended, time.Second + agentTime},
		{late, -1, state.Suspended, time.Minute + agentTime},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": c.answer, "B": "<result>b</result>"}, nil)
			l.cfg.Hold = c.hold
			began := time.Now()
			l.drive(false, c.want)
			if until := l.run.Progress.Until; c.until != 0 {
				same(t, c.answer+": until", c.until, until.Sub(began))
				same(t, c.answer+": left at once", agentTime, time.Since(began))
				l.drive(true, state.Suspended) // no wait ends yet
				time.Sleep(time.Until(until))
				l.drive(true, state.Completed)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": `<goto after="10m">B</goto>`, "B": "transient!down"}, func(o *state.Options) { o.MaxRetries = 9 })
		l.answers["B.md"] = []string{"transient!down", "transient!down", "<result>b</result>"}
		l.cfg.Hold = 10 * time.Minute
		l.drive(false, state.Completed)
	})
}

// TestLateAnswerStillCounts checks that an answer counts if it comes after the timeout, but before
// the timeout was applied. The first step of a resume waits until the answers to open questions
// have been read.
func TestLateAnswerStillCounts(t *testing.T) {
	for answers, want := range map[string]string{"": "late", "x": "heard"} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{
				"A": `<ask next="HEARD" timeout="1m" timeout_next="LATE">?</ask>`, "HEARD": "<result>heard</result>", "LATE": "<result>late</result>",
			}, nil)
			l.drive(false, state.Suspended)
			time.Sleep(100 * time.Hour)
			people := newPrompter(101*time.Hour, nil)
			if answers != "" {
				people.answers = map[int]string{1: answers}
			}
			l.cfg.Prompter = people
			l.drive(true, state.Completed)
			same(t, "result", []string{"main=" + want}, ended(l.run))
		})
	}
}

// TestPrompterCanEndQuestion checks updates that time a question out early, that record the id of
// its comment, and that change nothing.
func TestPrompterCanEndQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": `<ask next="B" timeout="9h" timeout_next="LATE">?</ask>`, "B": "<result>b</result>", "LATE": "<result>late</result>"}, nil)
		people := newPrompter(0, nil)
		people.stays = true
		l.cfg.Prompter = people
		l.cfg.NewToken = func() string { return strings.Repeat("5", 32) }
		go func() {
			time.Sleep(time.Hour)
			people.updates <- runner.QuestionUpdate{Agent: "main", Number: 2, TimeOut: true}
			people.updates <- runner.QuestionUpdate{Agent: "main", Number: 1, Comment: 42}
			people.updates <- runner.QuestionUpdate{}
			time.Sleep(time.Hour)
			q := decoded(t, l.store.saves[len(l.store.saves)-1]).Agents[0].Waits.Question
			same(t, "saved", []any{strings.Repeat("5", 32), int64(42)}, []any{q.Token, q.Comment})
			people.updates <- runner.QuestionUpdate{Agent: "main", Number: 1, TimeOut: true}
		}()
		l.drive(false, state.Completed)
		same(t, "result", []string{"main=late"}, ended(l.run))
	})
}

// TestTrustedScriptsRunWithoutAgents checks that a trusted script waits for running agents. While it
// waits, no other state and no reminder starts. Trusted scripts may run at the same time. A script
// that has waited as long as its timeout fails.
func TestTrustedScriptsRunWithoutAgents(t *testing.T) {
	for timeout, want := range map[string]string{
		"9s":    "0s A.md|1s B.md|1s V.md|2.5s W.md|2s C.md|3.5s PUSH.sh|4.5s SIGN.sh|4.5s TAG.sh|5.5s D.md|5.5s W.md",
		"200ms": "0s A.md|1s B.md|1s V.md|2.5s W.md|2s C.md|3.5s W.md|timeout: waited 200ms for agents, checks and other scripts to end; still running: main_v1 (W.md)",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{
				"A": `<fork next="B">V</fork>`, "B": `<goto>C</goto>`, "V": `<goto after="500ms">W</goto>`, "W": `<result>w</result>`, "D": `<result>d</result>`,
				"C":       "---\nallowed_transitions: [{tag: fork, target: PUSH.sh, next: D.md}]\n---\nx\n<fork next=\"D\">PUSH.sh</fork>",
				"PUSH.sh": "# raymond: trusted=true targets=SIGN.sh,TAG.sh timeout=" + timeout + "\n<fork next=\"TAG.sh\">SIGN.sh</fork>",
				"SIGN.sh": "# raymond: trusted=true\n<result>s</result>", "TAG.sh": "# raymond: trusted=true\n<result>t</result>",
			}, func(o *state.Options) { o.MaxParallel = 4 })
			l.answers["W.md"] = []string{"nothing", "<result>w</result>"}
			l.cfg.Scripts, l.cfg.RunsTrustedAlone = l.script, true
			l.cfg.ScriptDir, l.cfg.TrustedDir, l.cfg.PayloadDir = t.TempDir(), t.TempDir(), t.TempDir()
			begin, got := time.Now(), []string{}
			same(t, "error", nil, runner.New(l.cfg, l.run).Run(t.Context(), false, nil))
			for i, o := range l.orders {
				got = append(got, fmt.Sprint(l.began[i].Sub(begin), " ", o.State))
			}
			slices.Sort(got)
			for _, f := range eventsOf[*state.AgentFinished](l) {
				got = append(got, f.Error)
			}
			same(t, "began, and failures", want, strings.TrimRight(strings.Join(got, "|"), "|"))
		})
	}
}

package options

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// count reads a whole number strictly.
func count(s string, least int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(n) != s || n < least || n > 1e9 {
		return 0, fmt.Errorf("want a whole number from %d", least)
	}
	return n, nil
}

// duration reads a Go duration that is not negative.
func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, errors.New("want a duration such as 90s, 15m or 2h30m")
	}
	return d, nil
}

// AddLimits defines the flags of budget, time and numbers.
func (o *Options) AddLimits() {
	o.Add("budget", "USD", "limit on the cost of the run (default 10.00; 0: no limit)", func(s string) error {
		v, err := state.ParseUSD(s)
		if strings.ContainsAny(s, "eE") {
			err = errors.New("want a plain decimal number of US dollars")
		}
		o.change(func(opt *state.Options) { opt.BudgetUSD = v })
		return err
	})
	o.count("max-iterations", "limit on the state executions of all agents (default: no limit)", 0, func(opt *state.Options, n int) { opt.MaxIterations = n })
	o.count("max-parallel", "limit on agents that execute at once (default 4)", 1, func(opt *state.Options, n int) { opt.MaxParallel = n })
	o.count("max-agents", "limit on agents alive at once (default 256)", 1, func(opt *state.Options, n int) { opt.MaxAgents = n })
	o.count("max-depth", "limit on the depth of an agent's return stack (default 64)", 1, func(opt *state.Options, n int) { opt.MaxDepth = n })
	o.count("max-retries", "limit on retries of failed invocations in a state execution (default 3)", 0, func(opt *state.Options, n int) { opt.MaxRetries = n })
	o.duration("overload-wait", "how long to wait while the model's service fails (default 10m; 0: its failures count as retries)", func(opt *state.Options, d state.Duration) { opt.OverloadWait = &d })
	o.Add("on-overload", "WORD", "what happens when its failures outlast --overload-wait: suspend (the run, for 15m, doubling to 4h, six times at most) or fail (the agent; default)", func(s string) error {
		o.change(func(opt *state.Options) {
			if opt.OnOverload = ""; s == state.SuspendOnOverload {
				opt.OnOverload = s
			}
		})
		return OneOf(s, state.SuspendOnOverload, "fail")
	})
	o.count("max-reminders", "limit on reminders in a state execution (default 3)", 0, func(opt *state.Options, n int) { opt.MaxReminders = n })
	o.duration("timeout", "longest time for one invocation of a state (default: none)", func(opt *state.Options, d state.Duration) { opt.Timeout = d })
	o.duration("idle-timeout", "longest time that a prompt may produce no output (default 15m)", func(opt *state.Options, d state.Duration) { opt.IdleTimeout = d })
	o.duration("grace", "time that states under way get at the deadline (default 30s)", func(opt *state.Options, d state.Duration) { opt.Grace = d })
	o.Add("deadline", "DUR", "suspend the run after this time (default: none)", func(s string) (err error) {
		o.Deadline, err = duration(s)
		return err
	})
	o.Switch("keep-going", "let the other agents finish when one fails", func(b bool) {
		o.change(func(opt *state.Options) { opt.KeepGoing = b })
	})
}

func (o *Options) count(name, text string, least int, set func(*state.Options, int)) {
	o.Add(name, "N", text, func(s string) error {
		n, err := count(s, least)
		o.change(func(opt *state.Options) { set(opt, n) })
		return err
	})
}

func (o *Options) duration(name, text string, set func(*state.Options, state.Duration)) {
	o.Add(name, "DUR", text, func(s string) error {
		d, err := duration(s)
		o.change(func(opt *state.Options) { set(opt, state.Duration(d)) })
		return err
	})
}

// maxDoneWhen is how many commands --done-when may be given: convergence.md.
const maxDoneWhen = 64

// AddLoop defines the flags that make a loop of a plain prompt file.
func (o *Options) AddLoop() {
	var commands []string
	o.Add("done-when", "CMD", "repeat a plain prompt file until this command exits 0 (repeatable)", func(s string) error {
		commands = append(commands, s)
		o.change(func(opt *state.Options) { opt.DoneWhen = commands })
		if len(commands) > maxDoneWhen {
			return fmt.Errorf("is command %d, want at most %d", len(commands), maxDoneWhen)
		}
		return NotEmpty(strings.TrimSpace(s))
	})
	o.Add("max-attempts", "N", "limit on attempts with --done-when (default 6)", func(s string) error {
		n, err := count(s, 1)
		if err == nil && n > 100 {
			err = errors.New("want at most 100")
		}
		o.change(func(opt *state.Options) { opt.MaxAttempts = n })
		return err
	})
}

func (o *Options) word(name, kind, text string, set func(*state.Options, string)) {
	o.Add(name, kind, text, func(s string) error {
		o.change(func(opt *state.Options) { set(opt, s) })
		if !protocol.IsModel(s) {
			return errors.New("want " + protocol.ModelNames)
		}
		return nil
	})
}

func (o *Options) tools(name, text string, set func(*state.Options, []string)) {
	var list []string
	o.Add(name, "LIST", text+", separated by commas", func(s string) error {
		list = append(list, splitTools(s)...)
		o.change(func(opt *state.Options) { set(opt, list) })
		return NotEmpty(strings.TrimSpace(s))
	})
}

// splitTools splits a list at commas and blanks outside of parentheses.
func splitTools(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n')
	})
}

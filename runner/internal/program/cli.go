// Package program runs agent CLIs. It locates a CLI and checks its version, starts it for an order, and
// explains why a process ended without an answer.
//
// It contains the code that all agent CLIs share. The package of each CLI knows the CLI's arguments and
// output.
package program

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	untrusted "github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// CLI is an agent CLI on this machine. It can run any number of invocations at the same time. Its fields
// must not change after the first invocation.
type CLI struct {
	// Path is the path of the program. If it is empty, the program is looked up on PATH. Run locates the
	// program and checks its version before the first invocation.
	Path string
	// Installer is used if Path is empty and PATH doesn't contain the program. If it is nil, a missing
	// program is an error.
	Installer Installer
	// Tested is the newest version that was tested, or empty. If the program is newer, users get a note.
	Tested string
	Env    []string // the complete base environment
	// NoNewPrivs prevents the CLI and the tools that it runs from gaining privileges, for example with
	// sudo. It has an effect only on Linux.
	NoNewPrivs bool
	// IsUntrusted makes the CLI ignore the instructions, settings, hooks and MCP servers in the working
	// directory.
	IsUntrusted bool
	// Proxy is the key proxy through which the CLI calls its API. If it is nil, the CLI calls the API
	// directly.
	Proxy *keyproxy.Proxy
	// ResultGrace is how long the CLI may take to exit after its result before it is ended. 0 means ten
	// seconds, which is more than the five seconds that Claude Code gives its own background shells.
	ResultGrace time.Duration

	mu sync.Mutex // guards found and checked; held during the version check, so that only one check runs at a time
	// found is the result of the first successful Find.
	found Found
	// checked is the version that Check found. It is zero before.
	checked Version
}

// Prompt contains the parts of running a prompt that differ between agent CLIs.
type Prompt struct {
	Source Source
	// Prepare prepares the conversation and returns the invocation. The strings are notes for users.
	Prepare func() (Turn, []string, *runner.Failure)
}

// Turn is an invocation of a CLI that is ready to start.
type Turn struct {
	Stream *Stream // the stream that reads the output
	// Start returns the command line and the environment. Run sets the other options, which are the same
	// for all CLIs. Stream.Order contains the variables of the key proxy when Start is called. The account
	// is nil if the CLI doesn't use a key proxy.
	Start func(*keyproxy.Account) (proc.Options, *runner.Failure)
	// Answer returns the result. It is called after the process has ended.
	Answer func(proc.Exit) (runner.Answer, *runner.Failure)
}

// Run runs a prompt as described at runner.Backend. The error is nil or a *runner.Failure. If the CLI
// has printed a complete answer, the error is nil, whatever the process does after that.
func (c *CLI) Run(ctx context.Context, o runner.Order, report func(runner.Progress), p Prompt) (runner.Answer, error) {
	if strings.TrimSpace(o.Prompt.Text) == "" {
		return NoAnswer, Fatal("the prompt is empty: agent CLIs accept no prompt that contains only spaces and line breaks; add text to the state, or check the values that it inserts")
	}
	began := time.Now()
	found, fail := c.Find(ctx, p.Source, o, func(line string) { report(runner.Progress{Note: line}) })
	a, prepared := NoAnswer, time.Since(began)
	var notes []string
	if fail == nil {
		var t Turn
		if t, notes, fail = p.Prepare(); fail == nil {
			a, fail = c.ask(ctx, p.Source, found, t)
			a.CLI = found.String()
		}
	}
	a.Notes, a.Prepared = append(notes, a.Notes...), prepared
	if fail != nil {
		return a, fail
	}
	return a, nil
}

// ask starts the CLI and returns the result. If there is a key proxy with a key for the CLI, the CLI
// gets an account.
func (c *CLI) ask(ctx context.Context, s Source, found Found, t Turn) (runner.Answer, *runner.Failure) {
	o := &t.Stream.Order
	t.Stream.grace = cmp.Or(c.ResultGrace, 10*time.Second)
	account := c.Proxy.Open(s.Backend, o.Mark)
	defer account.Close()
	defer account.Watch(t.Stream.Display.ReportUsage)()
	o.Env = slices.Concat(o.Env, account.Env(o.Env))
	in, fail := t.Start(account)
	if fail != nil {
		return NoAnswer, fail
	}
	in.Path, in.Stdout, in.NoNewPrivs, in.LastWait = found.Path, t.Stream, c.NoNewPrivs, account.LastWait
	exit, fail := t.Stream.Run(ctx, in, s.HowTo)
	if fail != nil {
		return NoAnswer, fail
	}
	t.Stream.Flush()
	// Processes that the CLI left behind must not be able to spend more.
	account.Close()
	a, fail := t.Answer(exit)
	return a, AddProxyCause(fail, account)
}

// NoAnswer is the answer for an invocation whose process did not start. Its cost is zero.
var NoAnswer = runner.Answer{Cost: state.Cost{Silent: true}}

// MaxMessage is the maximum length in bytes of a final message.
const MaxMessage = 10 << 20

// Message collects the pieces of a message. It contains at most MaxMessage bytes. The zero value is empty.
type Message struct{ strings.Builder }

// Add appends a text. If the message would become longer than MaxMessage, it appends nothing and returns
// false.
func (m *Message) Add(text string) bool {
	if m.Len()+len(text) > MaxMessage {
		return false
	}
	m.WriteString(text)
	return true
}

// TooLongFailure returns the failure for a message that is longer than MaxMessage.
func TooLongFailure() *runner.Failure { return Fatal("the message is over %d MiB", MaxMessage>>20) }

// Hider returns the function o.Hide, which masks secrets. If it is nil, Hider returns a function that
// changes nothing.
func Hider(o runner.Order) func(string) string {
	if o.Hide == nil {
		return func(text string) string { return text }
	}
	return o.Hide
}

// OneLine returns a text on one line with at most width characters. The caller must mask secrets before,
// because a secret that was truncated is not recognized.
func OneLine(s string, width int) string { return untrusted.Brief(s, width) }

// LateExitNotes returns notes about a process that did not exit cleanly after it had printed its
// complete answer.
func LateExitNotes(exit proc.Exit, o runner.Order) (notes []string) {
	switch {
	case exit.Ended == proc.ByLateExit:
		return []string{"the agent CLI continued after its result and was ended"}
	case exit.Ended != proc.ByItself:
		return []string{fmt.Sprintf("the agent CLI was ended (%s) after its result", exit.Ended)}
	case exit.Code != 0:
		return []string{fmt.Sprintf("the agent CLI ended with %s after its result was complete", DescribeExit(exit, o))}
	}
	return nil
}

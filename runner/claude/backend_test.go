package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// order returns an order for a new conversation in a new directory.
func order(t testing.TB, prompt string) runner.Order {
	t.Helper()
	return runner.Order{
		Dir:       t.TempDir(),
		Mark:      uuid.NewString(),
		Verbosity: runner.VerbosityFull,
		Prompt:    runner.PromptOrder{Text: prompt, Session: state.Fresh, SessionID: chosen},
	}
}

// run runs an order and returns the answer, the failure and the texts that were reported.
func run(ctx context.Context, t *testing.T, b *Backend, o runner.Order) (runner.Answer, *runner.Failure, []string) {
	t.Helper()
	var told []string
	a, err := b.Run(ctx, o, func(p runner.Progress) {
		if p.Text != "" {
			told = append(told, p.Text)
		}
	})
	if err == nil {
		return a, nil, told
	}
	var f *runner.Failure
	assert.Assert(t, errors.As(err, &f), "run %q: got error %T %v, want a *runner.Failure", o.Prompt.Text, err, err)
	return a, f, told
}

// scriptBackend returns a backend whose CLI is a shell script.
func scriptBackend(t *testing.T, version, script string) *Backend {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	installtest.WriteProgram(t, path, "#!/bin/sh\n[ \"$1\" = --version ] && { echo "+version+"; exit; }\ncat >/dev/null\n"+script)
	return &Backend{CLI: program.CLI{Path: path, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}, ResultGrace: patience}}
}

// current is what a sufficiently new CLI prints as its version.
const current = "'2.1.330 (Claude Code)'"

// printScript returns shell code that prints lines.
func printScript(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("printf '%s\\n' '" + line + "'\n")
	}
	return b.String()
}

// patience is how long a CLI may take in these tests. It is long because the machine may be very busy.
const patience = 10 * time.Minute

// TestMisbehavingProcesses checks the results for a CLI that doesn't behave as expected, for example one
// that doesn't exit.
func TestMisbehavingProcesses(t *testing.T) {
	impatient := func(b *Backend, _ *runner.Order) { b.ResultGrace = 50 * time.Millisecond }
	idle := func(_ *Backend, o *runner.Order) { o.Idle = 300 * time.Millisecond }
	tests := []struct {
		name   string
		script string
		// wantClass is empty if the answer "hello" is expected.
		wantClass runner.Class
		wantText  string // must occur in the message or in a note
		limit     func(*Backend, *runner.Order)
	}{
		{"hangs after its result", printScript(start, hello, goodbye) + hangScript, "", "continued after its result", impatient},
		{"exits badly after its result", printScript(start, hello, goodbye) + "echo oops >&2; exit 3", "", "exit code 3: oops", nil},
		{"another session", strings.ReplaceAll(printScript(start, hello, goodbye), chosen, "x"), "", `chose session "x"`, nil},
		{"a session that names a path", strings.ReplaceAll(printScript(start), chosen, "../../../tmp/x") + hangScript, runner.Fatal, `named its session "../../../tmp/x", which is not a valid id`, nil},
		{"dies", printScript(start) + "echo error: out of memory >&2; exit 1", runner.Transient, "exit code 1: error: out of memory", nil},
		{"silent", printScript(start) + hangScript, runner.TimedOut, "no output for 300ms", idle},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, o := scriptBackend(t, current, tt.script), order(t, "hi")
			if tt.limit != nil {
				tt.limit(b, &o)
			}
			a, f, _ := run(t.Context(), t, b, o)
			class, text := runner.Class(""), strings.Join(a.Notes, "\n")
			if f != nil {
				class, text = f.Class, f.Message
			}
			assert.Check(t, class == tt.wantClass && strings.Contains(text, tt.wantText) && (class != "" || a.Text == "hello"), "got %.80q, %q, %q, want %q, %q", a.Text, class, text, tt.wantClass, tt.wantText)
		})
	}
}

// hangScript is shell code that waits until a signal ends it.
const hangScript = "exec sleep 100000\n"

// TestMachineFailures checks the failures for a CLI that is missing or too old, or for a program that is
// not the CLI. Each failure must explain how to install the right CLI.
func TestMachineFailures(t *testing.T) {
	notProgram := filepath.Join(t.TempDir(), "claude")
	assert.NilError(t, os.WriteFile(notProgram, []byte("\x00"), 0o755))
	tests := []struct {
		b    *Backend
		want string
	}{
		{&Backend{CLI: program.CLI{Path: "/nonexistent/claude"}}, `agent CLI "/nonexistent/claude" not found`},
		{&Backend{CLI: program.CLI{Path: "no-such-claude"}}, `agent CLI "no-such-claude" not found`},
		{scriptBackend(t, "'2.1.220 (Claude Code)'", ""), "is version 2.1.220, but at least 2.1.221 is required"},
		{scriptBackend(t, "hello", ""), "does not report its version"},
		{&Backend{CLI: program.CLI{Path: notProgram}}, "start the agent CLI"},
	}
	for _, tt := range tests {
		_, f, _ := run(t.Context(), t, tt.b, order(t, "hello"))
		if f == nil || f.Class != runner.Machine || !strings.Contains(f.Message, tt.want) ||
			!strings.Contains(f.Message, "npm install -g @anthropic-ai/claude-code@"+Pin.Version()+"`") {
			t.Errorf("%q: got %+v, want class %s, %q and how to install it", tt.b.Path, f, runner.Machine, tt.want)
		}
	}
}

// TestCommandLine checks the arguments with which the CLI is started.
func TestCommandLine(t *testing.T) {
	base := "-p --output-format stream-json --verbose --include-partial-messages"
	later := " --disallowedTools=CronCreate,Monitor,RemoteTrigger,ScheduleWakeup,Workflow"
	settings := later + ` --settings={"cleanupPeriodDays":3650}`
	tests := []struct {
		o    runner.Order
		args []string
		want string
	}{
		{runner.Order{Prompt: runner.PromptOrder{SessionID: "N"}}, nil, base + " --session-id N" + settings},
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: "N"}}, nil, base + " --resume N" + settings},
		{runner.Order{Prompt: runner.PromptOrder{Session: state.Branch, SessionID: "N", From: "F"}}, nil, base + " --resume F --fork-session --session-id N" + settings},
		{runner.Order{Prompt: runner.PromptOrder{SessionID: "N", Model: "opus[1m]", Effort: "high", Permissions: runner.Permissions{PermissionMode: "plan"}}}, nil,
			base + " --session-id N --model opus[1m] --effort high --permission-mode plan" + settings},
		{runner.Order{Prompt: runner.PromptOrder{SessionID: "N", Permissions: runner.Permissions{SkipPermissions: true, AllowedTools: []string{"Bash(git *)", "-x"}, DisallowedTools: []string{"WebFetch"}}}}, nil,
			base + " --session-id N --dangerously-skip-permissions --allowedTools=Bash(git *) --allowedTools=-x --disallowedTools=WebFetch" + settings},
		{runner.Order{Prompt: runner.PromptOrder{SessionID: "N", BudgetCap: state.Dollar / 4}}, nil, base + " --session-id N --max-budget-usd 0.25" + settings},
		{runner.Order{Prompt: runner.PromptOrder{SessionID: "N", Model: "--bare"}}, nil, base + " --session-id N --model=--bare" + settings},
		{runner.Order{Prompt: runner.PromptOrder{SessionID: "N"}}, []string{"--settings", "mine.json", "--bare"}, base + " --session-id N" + later + " --settings mine.json --bare"},
	}
	for _, tt := range tests {
		b := &Backend{Args: tt.args}
		assert.Check(t, is.Equal(strings.Join(b.args(tt.o), " "), tt.want), "%+v", tt.o)
	}
}

// TestEnvironment checks that the base environment takes precedence over switches, and that the order's
// variables take precedence over both. It also checks that variables that mark a child of the CLI are
// removed.
func TestEnvironment(t *testing.T) {
	b := &Backend{CLI: program.CLI{Env: []string{"CLAUDECODE=1", "CLAUDE_CODE_MAX_RETRIES=0", "A=1"}}}
	got := map[string]string{}
	for _, entry := range b.env(runner.Order{Env: []string{"A=2"}}) {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	if _, nested := got["CLAUDECODE"]; nested || got["CLAUDE_CODE_MAX_RETRIES"] != "0" || got["A"] != "2" ||
		got["CLAUDE_CODE_DISABLE_ATTACHMENTS"] != "1" {
		t.Errorf("environment over %v: got %v", b.Env, got)
	}
	for wait, want := range map[time.Duration]bool{0: false, 3 * time.Second: true, time.Minute: false} {
		env := (&Backend{}).env(runner.Order{Prompt: runner.PromptOrder{OverloadWait: wait}})
		assert.Check(t, is.Equal(slices.Contains(env, "CLAUDE_CODE_MAX_RETRIES=0"), want), "a run that waits %s: the CLI does not retry", wait)
	}
}

// TestVersionIsLoggedOnce checks that the CLI's version and path are logged once, and also a note if the
// version is newer than the newest tested version.
func TestVersionIsLoggedOnce(t *testing.T) {
	b := scriptBackend(t, "'2.1.400 (Claude Code)'", printScript(start, hello, goodbye))
	path := b.Path
	b.Tested = "2.1.399"
	var notes []string
	tell := func(p runner.Progress) {
		if p.Note != "" {
			notes = append(notes, p.Note)
		}
	}
	for range 2 {
		o := order(t, "hello")
		o.Verbosity = runner.VerbosityNone
		a, err := b.Run(t.Context(), o, tell)
		assert.Check(t, err == nil && a.CLI == "2.1.400 at "+path, "got %q, %v, want the version and the path", a.CLI, err)
	}
	want := []string{"agent CLI: Claude Code 2.1.400 at " + path, "Claude Code 2.1.400 is newer than 2.1.399, the newest version that raymond was tested with"}
	assert.Check(t, is.DeepEqual(notes, want), "notes")
	b = &Backend{CLI: program.CLI{Path: path, Env: b.Env, Tested: "2.1.400"}}
	_, err := b.Run(t.Context(), order(t, "hello"), tell)
	assert.Check(t, err == nil && len(notes) == 3, "the newest that was tested: got %v, notes %q, want no further one than its name", err, notes[2:])
}

// installer is a function that implements program.Installer.
type installer func(context.Context, func(string)) (string, error)

func (i installer) Install(ctx context.Context, say func(string)) (string, error) { return i(ctx, say) }

// TestInstallationOfTheCLI checks the failures for an installation that fails and for one that is stopped.
func TestInstallationOfTheCLI(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	broken := &Backend{CLI: program.CLI{Installer: installer(func(context.Context, func(string)) (string, error) { return "", errors.New("code E404") })}}
	_, f, _ := run(t.Context(), t, broken, order(t, "hello"))
	assert.Check(t, f != nil && f.Class == runner.Machine && strings.Contains(f.Message, "code E404"), "an installation that fails: got %+v, want class %s and the reason", f, runner.Machine)
	ctx, cancel := context.WithCancelCause(t.Context())
	slow := &Backend{CLI: program.CLI{Installer: installer(func(ctx context.Context, say func(string)) (string, error) {
		say("installing")
		cancel(&runner.StopCause{Reason: "cancelled"})
		<-ctx.Done()
		return "", ctx.Err()
	})}}
	if _, f, _ := run(ctx, t, slow, order(t, "hello")); f == nil || f.Class != runner.Stopped {
		t.Errorf("a cancel during an installation: got %+v, want class %s", f, runner.Stopped)
	}
}

// TestWebSearchIsOffUnlessAllowed checks that the CLI's web search is disabled unless the user allows
// it. The key proxy would reject its requests.
func TestWebSearchIsOffUnlessAllowed(t *testing.T) {
	for _, tools := range [][]string{nil, {"web_search"}} {
		p, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{{API: API{}, Credential: keyproxy.Credential{Text: "k"}}}, Tools: tools, IsOpen: true})
		assert.NilError(t, err)
		defer p.Close()
		b := &Backend{CLI: program.CLI{Proxy: p}}
		got := slices.Contains(b.args(runner.Order{}), "--disallowedTools=WebSearch")
		assert.Check(t, got != (tools != nil), "with %q allowed: got the search turned off %v", tools, got)
	}
}

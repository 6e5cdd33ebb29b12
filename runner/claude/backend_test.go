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

	"github.com/raymond-action/raymond-action/runner"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// order returns a fresh order in a folder of its own.
func order(t testing.TB, prompt string) runner.Order {
	t.Helper()
	return runner.Order{
		Dir:     t.TempDir(),
		Mark:    uuid.NewString(),
		Telling: runner.TellAll,
		Prompt:  runner.PromptOrder{Text: prompt, Session: state.Fresh, SessionID: uuid.NewString()},
	}
}

// run returns the answer, the failure and what was told.
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
	if !errors.As(err, &f) {
		t.Fatalf("run %q: got error %T %v, want a *runner.Failure", o.Prompt.Text, err, err)
	}
	return a, f, told
}

func play(t *testing.T, acts ...ct.Act) *Backend {
	t.Helper()
	path, env := ct.Stub{Acts: acts}.Start(t)
	return &Backend{Path: path, Env: env, ResultGrace: patience}
}

// patience is how long a CLI may take on a machine with much else to do.
const patience = 10 * time.Minute

// TestWhatTheProcessDoes holds what comes of a CLI that behaves in ways the real
// one was seen to, or could.
func TestWhatTheProcessDoes(t *testing.T) {
	impatient := func(b *Backend, _ *runner.Order) { b.ResultGrace = 50 * time.Millisecond }
	idle := func(_ *Backend, o *runner.Order) { o.Idle = 300 * time.Millisecond }
	tests := []struct {
		name      string
		acts      []ct.Act
		wantClass runner.Class // "" for the answer "hi"
		wantText  string       // part of the message, or of a note
		limit     func(*Backend, *runner.Order)
	}{
		{"ends well", []ct.Act{ct.Init(), ct.Says("hi"), ct.Done()}, "", "", nil},
		{"hangs after its result", []ct.Act{ct.Init(), ct.Says("hi"), ct.Done(), {Hang: true}}, "", "continued after its result", impatient},
		{"exits badly after its result", []ct.Act{ct.Init(), ct.Says("hi"), ct.Done(), {Stderr: "oops\n"}, ct.Exit(3)}, "", "exit code 3: oops", nil},
		{"no line break at the end", []ct.Act{ct.Says("hi"), {Raw: `{"type":"result","subtype":"success"}`}}, "", "", nil},
		{"a new turn after a result", []ct.Act{ct.Done(), ct.Says("hi"), {Flood: &ct.Fill{Line: `{"type":"x"}`, Bytes: 1 << 14}}, ct.Done()}, "", "", nil},
		{"invalid lines", []ct.Act{ct.Line("{]"), ct.Init(), {Nest: 20000}, ct.Says("hi"), ct.Done()}, "", "2 lines", nil},
		{"a line of 100 MB", []ct.Act{ct.Init(), {Long: &ct.Fill{Line: `{"type":"user","message":"{{fill}}"}`, Bytes: 100 * mib}}, ct.Says("hi"), ct.Done()}, "", "", nil},
		{"no result", []ct.Act{ct.Init(), ct.Says("hi")}, runner.Transient, "no result record: the agent CLI ended with exit code 0", nil},
		{"no output at all", nil, runner.Transient, "no result record", nil},
		{"dies", []ct.Act{ct.Init(), {Stderr: "error: out of memory\n"}, ct.Exit(1)}, runner.Transient, "exit code 1: error: out of memory", nil},
		{"refuses a flag", []ct.Act{{Stderr: "error: unknown option '--nope'\n"}, ct.Exit(1)}, runner.Fatal, "unknown option '--nope'", nil},
		{"crashes at the start", []ct.Act{{Stderr: "Segmentation fault\n"}, ct.Exit(1)}, runner.Transient, "Segmentation fault", nil},
		{"says too much", append(slices.Repeat([]ct.Act{{Long: &ct.Fill{Line: `{"type":"assistant","message":{"content":[{"type":"text","text":"{{fill}}"}]}}`, Bytes: mib}}}, 11), ct.Act{Hang: true}), runner.Fatal, "over 10 MiB", nil},
		{"silent", []ct.Act{ct.Init(), {Hang: true}}, runner.TimedOut, "no output for 300ms", idle},
		{"a session that names a path", []ct.Act{ct.Line(`{"type":"system","subtype":"init","session_id":"../../../tmp/x"}`), ct.Says("hi"), ct.Done()}, runner.Fatal, `named its session "../../../tmp/x", which can't be kept`, nil},
		{"another session", []ct.Act{ct.Line(`{"type":"system","subtype":"init","session_id":"x"}`), ct.Says("hi"), ct.Line(`{"type":"result","subtype":"success","session_id":"x"}`)}, "", `chose session "x"`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, o := play(t, tt.acts...), order(t, "hello")
			if tt.limit != nil {
				tt.limit(b, &o)
			}
			a, f, _ := run(t.Context(), t, b, o)
			class, text := runner.Class(""), strings.Join(a.Notes, "\n")
			if f != nil {
				class, text = f.Class, f.Message
			}
			if class != tt.wantClass || !strings.Contains(text, tt.wantText) || class == "" && a.Text != "hi" {
				t.Errorf("got %.80q, %q, %q, want %q, %q", a.Text, class, text, tt.wantClass, tt.wantText)
			}
		})
	}
}

// TestStopping holds that a stopped invocation ends on the given ladder, and
// that an answer that had come by then is kept.
func TestStopping(t *testing.T) {
	// On a busy machine it takes a while to die of SIGTERM.
	stop := &runner.Stopping{Reason: "cancelled", Term: 20 * time.Millisecond, Kill: time.Hour}
	for _, done := range []bool{false, true} {
		acts := []ct.Act{{Deaf: true}, ct.Init(), ct.Says("hi")}
		if done {
			acts = append(acts, ct.Done())
		}
		b := play(t, append(acts, ct.Says("more"), ct.Act{Hang: true})...)
		ctx, cancel := context.WithCancelCause(t.Context())
		a, err := b.Run(ctx, order(t, "hello"), func(p runner.Progress) {
			if p.Text == "more" {
				cancel(stop)
			}
		})
		var f *runner.Failure
		if stopped := errors.As(err, &f); done && (err != nil || a.Text != "hi") || !done && (!stopped || f.Class != runner.Stopped) {
			t.Errorf("stop, result before it: %v: got %q, %v", done, a.Text, err)
		}
		if a.Signal != "SIGTERM" {
			t.Errorf("stop a CLI that is deaf to SIGINT: got signal %q, want SIGTERM after %s", a.Signal, stop.Term)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, f, _ := run(ctx, t, play(t), order(t, "hello")); f == nil || f.Class != runner.Stopped {
		t.Errorf("stopped before the start: got %v, want class %s", f, runner.Stopped)
	}
}

// TestMachineFailures holds that a CLI that is missing, too old or no CLI says so,
// and how to get a good one.
func TestMachineFailures(t *testing.T) {
	path, env := ct.Stub{Version: "2.1.127 (Claude Code)"}.Start(t)
	_, mute := ct.Stub{Version: "hello"}.Start(t)
	notProgram := filepath.Join(t.TempDir(), "claude")
	must(t, os.WriteFile(notProgram, []byte("\x00"), 0o755))
	tests := []struct {
		b    *Backend
		want string
	}{
		{&Backend{Path: "/nonexistent/claude"}, `agent CLI "/nonexistent/claude" not found`},
		{&Backend{Path: "no-such-claude"}, `agent CLI "no-such-claude" not found`},
		{&Backend{Path: path, Env: env}, "is version 2.1.127, want at least 2.1.128"},
		{&Backend{Path: path, Env: mute}, "does not tell its version"},
		{&Backend{Path: notProgram}, "start the agent CLI"},
	}
	for _, tt := range tests {
		_, f, _ := run(t.Context(), t, tt.b, order(t, "hello"))
		if f == nil || f.Class != runner.Machine || !strings.Contains(f.Message, tt.want) ||
			!strings.Contains(f.Message, "npm install -g @anthropic-ai/claude-code") {
			t.Errorf("%q: got %+v, want class %s, %q and how to install it", tt.b.Path, f, runner.Machine, tt.want)
		}
	}
}

// TestEmptyPromptIsRefused holds that a prompt which the CLI would answer with
// silence does not start it.
func TestEmptyPromptIsRefused(t *testing.T) {
	for _, prompt := range []string{"", " \n\t"} {
		_, f, _ := run(t.Context(), t, &Backend{Path: "/nonexistent"}, order(t, prompt))
		if f == nil || f.Class != runner.Fatal {
			t.Errorf("prompt %q: got %v, want class %s", prompt, f, runner.Fatal)
		}
	}
}

// TestCommandLine holds what the CLI is started with.
func TestCommandLine(t *testing.T) {
	base := "-p --output-format stream-json --verbose --include-partial-messages"
	settings := ` --settings={"cleanupPeriodDays":3650}`
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
		{runner.Order{Prompt: runner.PromptOrder{SessionID: "N"}}, []string{"--settings", "mine.json", "--bare"}, base + " --session-id N --settings mine.json --bare"},
	}
	for _, tt := range tests {
		b := &Backend{Args: tt.args}
		if got := strings.Join(b.args(tt.o), " "); got != tt.want {
			t.Errorf("%+v: got\n%s\nwant\n%s", tt.o, got, tt.want)
		}
	}
}

// TestEnvironment holds that the base environment wins over our switches and the
// order's variables over it, and that the CLI never takes itself for nested.
func TestEnvironment(t *testing.T) {
	b := &Backend{Env: []string{"CLAUDECODE=1", "CLAUDE_CODE_MAX_RETRIES=0", "A=1"}}
	got := map[string]string{}
	for _, entry := range b.env([]string{"A=2"}) {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	if _, nested := got["CLAUDECODE"]; nested || got["CLAUDE_CODE_MAX_RETRIES"] != "0" || got["A"] != "2" ||
		got["CLAUDE_CODE_DISABLE_ATTACHMENTS"] != "1" {
		t.Errorf("environment over %v: got %v", b.Env, got)
	}
}

// TestProgress holds that what is told are single lines, and few of them.
func TestProgress(t *testing.T) {
	long := strings.Repeat("line\n", 1000)
	input := `{"type":"assistant","parent_tool_use_id":"x","message":{"content":[` +
		`{"type":"tool_use","name":"Bash","input":{"description":"d","command":"ls\n  -l"}},` +
		`{"type":"tool_use","name":"Odd","input":{"a":[1]}},{"type":"tool_use","name":"None","input":{}}]}}`
	b := play(t, ct.Says("one\n\n two \t three\r\n"), ct.Line(input), ct.Says(long), ct.Done())
	_, _, told := run(t.Context(), t, b, order(t, "hello"))
	want := []string{"one", "two three", "Bash(ls -l)", `Odd({"a":[1]})`, "None()", "line"}
	if len(told) < len(want) || !slices.Equal(told[:len(want)], want) || len(told) > 250 {
		t.Errorf("told %d lines: got %q, want %q first and at most 250", len(told), told[:min(len(told), 8)], want)
	}
	quiet := order(t, "hello")
	quiet.Telling = runner.TellNothing
	if _, _, told := run(t.Context(), t, b, quiet); len(told) > 0 {
		t.Errorf("told without being asked: got %q, want nothing", told)
	}
}

// TestTheCLIIsNamedOnce: its version and path are a line of the log, and so is that
// it is newer than any that was tested; an installation is no time of the state, its
// failure is one of the machine, and a cancel during it a cancel.
func TestTheCLIIsNamedOnce(t *testing.T) {
	path, env := ct.Stub{Version: "2.1.400 (Claude Code)", Acts: []ct.Act{ct.Init(), ct.Says("hi"), ct.Done()}}.Start(t)
	b := &Backend{Path: path, Env: env, Tested: "2.1.399"}
	var notes []string
	tell := func(p runner.Progress) {
		if p.Note != "" {
			notes = append(notes, p.Note)
		}
	}
	for range 2 {
		o := order(t, "hello")
		o.Telling = runner.TellNothing
		if a, err := b.Run(t.Context(), o, tell); err != nil || a.CLI != "2.1.400 at "+path {
			t.Errorf("got %q, %v, want the version and the path", a.CLI, err)
		}
	}
	want := []string{"agent CLI: Claude Code 2.1.400 at " + path, "Claude Code 2.1.400 is newer than 2.1.399, the newest version that raymond was tested with"}
	if !slices.Equal(notes, want) {
		t.Errorf("notes: got %q, want %q", notes, want)
	}
	b = &Backend{Path: path, Env: env, Tested: "2.1.400"}
	if _, err := b.Run(t.Context(), order(t, "hello"), tell); err != nil || len(notes) != 3 {
		t.Errorf("the newest that was tested: got %v, notes %q, want no further one than its name", err, notes[2:])
	}
}

type installer func(context.Context, func(string)) (string, error)

func (i installer) Install(ctx context.Context, say func(string)) (string, error) { return i(ctx, say) }

func TestInstallationOfTheCLI(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	broken := &Backend{Installer: installer(func(context.Context, func(string)) (string, error) { return "", errors.New("code E404") })}
	if _, f, _ := run(t.Context(), t, broken, order(t, "hello")); f == nil || f.Class != runner.Machine || !strings.Contains(f.Message, "code E404") {
		t.Errorf("an installation that fails: got %+v, want class %s and the reason", f, runner.Machine)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	slow := &Backend{Installer: installer(func(ctx context.Context, say func(string)) (string, error) {
		say("installing")
		cancel(&runner.Stopping{Reason: "cancelled"})
		<-ctx.Done()
		return "", ctx.Err()
	})}
	if _, f, _ := run(ctx, t, slow, order(t, "hello")); f == nil || f.Class != runner.Stopped {
		t.Errorf("a cancel during an installation: got %+v, want class %s", f, runner.Stopped)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

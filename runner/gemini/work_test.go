package gemini

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// grant is what an agent may do, and what comes of what it tries.
type grant struct {
	change    func(*runner.Permissions)
	untrusted bool
	shell     string
	write     bool
	refused   string // how the refusal begins; "" for none
	allow     []string
	note      string
}

const made, file = "touch made", "w.txt"

var grants = map[string]grant{
	"default":     {shell: made, refused: "run_shell_command(touch made)", allow: []string{"Bash(touch:*)"}},
	"acceptEdits": {change: func(o *runner.Permissions) { o.PermissionMode = "acceptEdits" }, write: true},
	"allowed":     {change: func(o *runner.Permissions) { o.AllowedTools = []string{"Bash(touch:*)"} }, shell: made},
	"allowed alone": {change: func(o *runner.Permissions) { o.AllowedTools = []string{"Bash(touch made)", "Read(./x)"} }, shell: made,
		note: `allowed tool "Read(./x)"`},
	"not with more": {change: func(o *runner.Permissions) { o.AllowedTools = []string{"Bash(touch mad)"} }, shell: made,
		refused: "run_shell_command(touch made)", allow: []string{"Bash(touch:*)"}},
	"denied": {change: func(o *runner.Permissions) { o.SkipPermissions, o.DisallowedTools = true, []string{"Bash(touch:*)"} }, shell: made,
		refused: "run_shell_command(touch made)"},
	"denied in a list":        {change: func(o *runner.Permissions) { o.SkipPermissions, o.DisallowedTools = true, []string{"Bash(touch:*)"} }, shell: "true && touch made", refused: "run_shell_command(true"},
	"plan":                    {change: func(o *runner.Permissions) { o.PermissionMode, o.AllowedTools = "plan", []string{"Edit"} }, write: true, refused: "write_file("},
	"everything":              {change: func(o *runner.Permissions) { o.SkipPermissions = true }, shell: made + " && echo x > " + file},
	"untrusted everything":    {change: func(o *runner.Permissions) { o.SkipPermissions = true }, untrusted: true, shell: made + "; git --version > " + file},
	"untrusted edits":         {change: func(o *runner.Permissions) { o.PermissionMode = "acceptEdits" }, untrusted: true, write: true},
	"untrusted denied always": {change: func(o *runner.Permissions) { o.SkipPermissions, o.DisallowedTools = true, []string{"Edit"} }, untrusted: true, write: true, refused: "write_file("},
}

// TestContractTools holds what an agent can do with each permission, and that what it was refused
// is reported with what would allow it.
func TestContractTools(t *testing.T) {
	t.Parallel()
	for name, c := range grants {
		if !isTried(name, "default", "allowed alone", "denied in a list", "plan", "untrusted everything") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			reply := agenttest.Reply{Shell: c.shell}
			if c.write {
				reply.Write = filepath.Join(s.dir, file)
			}
			s.model(func(a agenttest.Asked) agenttest.Reply {
				if a.Output == "" {
					return reply
				}
				return agenttest.Reply{Text: "done"}
			})
			s.backend.IsUntrusted = c.untrusted
			o := s.order("work")
			if c.change != nil {
				c.change(&o.Prompt.Permissions)
			}
			a := s.answer(o)
			isDone := c.write && exists(filepath.Join(s.dir, file)) || c.shell != "" && exists(filepath.Join(s.dir, "made"))
			if isDone != (c.refused == "") || a.Text != "done" {
				t.Errorf("done: got %v, said %q, want %v, and the rest said", isDone, a.Text, c.refused == "")
			}
			if (len(a.Denied) == 0) != (c.refused == "") || len(a.Denied) > 0 && (!strings.HasPrefix(a.Denied[0], c.refused) || a.Refusals[0].Reason == "" || !slices.Equal(a.Refusals[0].Allow, c.allow)) {
				t.Errorf("refused: got %q, %+v, want %q, allowed by %q", a.Denied, a.Refusals, c.refused, c.allow)
			}
			if notes := strings.Join(a.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("notes: got %q, want %q", notes, c.note)
			}
		})
	}
}

// isTried reports whether a case is tried: those that are named always, the others with
// RAYMOND_TEST_FULL alone, since each starts the CLI.
func isTried(name string, always ...string) bool {
	return os.Getenv("RAYMOND_TEST_FULL") != "" || slices.Contains(always, name)
}

// TestContractNoWayToAllModes: the model is offered no tool that would let it change the mode, and
// no search of the web by itself.
func TestContractNoWayToAllModes(t *testing.T) {
	t.Parallel()
	s := newSite(t, echo)
	s.answer(s.order("x"))
	offered := s.api.Asked()[0].Tools
	for _, tool := range []string{"enter_plan_mode", "exit_plan_mode", "ask_user", "google_web_search", "web_fetch", shell, "write_file", "save_memory"} {
		if slices.Contains(offered, tool) {
			t.Errorf("tools that the model is offered: got %q, want no %s", offered, tool)
		}
	}
	if !slices.Contains(offered, "read_file") {
		t.Errorf("tools that the model is offered: got %q, want read_file", offered)
	}
}

// TestContractFailures holds the class of each error.
func TestContractFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply   agenttest.Reply
		class   runner.Class
		message string
	}{
		"wrong key":     {agenttest.Reply{Status: 400, Message: "API key not valid. Please pass a valid API key."}, runner.Fatal, "authentication: API key not valid"},
		"no permission": {agenttest.Reply{Status: 403, Message: "denied"}, runner.Fatal, "authentication: denied"},
		"unauthorized":  {agenttest.Reply{Status: 401, Message: "who?"}, runner.Fatal, "authentication: who?"},
		"bad request":   {agenttest.Reply{Status: 400, Message: "too long"}, runner.Fatal, "bad request: too long"},
		"no model":      {agenttest.Reply{Status: 404, Message: "models/x is not found"}, runner.Fatal, "unknown model: models/x is not found"},
		"rate limit":    {agenttest.Reply{Status: 429, Message: "slow down"}, runner.Service, "slow down"},
		"used up":       {agenttest.Reply{Status: 429, UsageLimit: true}, runner.UsageLimit, "usage limit: You have exhausted your daily quota"},
		"an hour":       {agenttest.Reply{Status: 429, Message: "quota", RetryAfter: "3600"}, runner.UsageLimit, "usage limit: quota"},
		"overloaded":    {agenttest.Reply{Status: 503, Message: "overloaded"}, runner.Service, "overloaded"},
		"broken":        {agenttest.Reply{Status: 500, Message: "oops"}, runner.Service, "oops"},
		"cut off":       {agenttest.Reply{Text: "never whole", Cut: true}, runner.Service, "terminated"},
	} {
		if !isTried(name, "wrong key", "rate limit", "used up", "cut off") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(agenttest.Asked) agenttest.Reply { return c.reply })
			s.backend.attempts = 1
			a, f := s.run(s.order("x"))
			if f == nil || f.Class != c.class || !strings.Contains(f.Message, c.message) {
				t.Errorf("got %+v, said %q, want %s with %q", f, a.Text, c.class, c.message)
			}
			if f != nil && f.Class == runner.UsageLimit && (f.Reset.Before(time.Now()) || f.Reset.After(time.Now().Add(25*time.Hour))) {
				t.Errorf("end of the limit: got %s, want within a day", f.Reset)
			}
		})
	}
}

// TestContractBroken: of an answer that breaks off and is asked for again only the whole one counts.
func TestContractBroken(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	s := newSite(t, func(a agenttest.Asked) agenttest.Reply {
		if a.Output == "" && a.Last() == "x" && !broken.Swap(true) {
			return agenttest.Reply{Shell: "true", Text: "<goto>A"}
		}
		return agenttest.Reply{Text: "<goto>B</goto>"}
	})
	o := s.order("x")
	if a := s.answer(o); a.Text != "<goto>B</goto>" {
		t.Errorf("message: got %q, want what was said after the last use of a tool", a.Text)
	}
}

// TestContractStop: a stop ends the CLI, and what was said is resumable.
func TestContractStop(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	ctx, stop := context.WithCancelCause(t.Context())
	s.model(func(a agenttest.Asked) agenttest.Reply {
		if a.Last() == "hang" {
			stop(&runner.Stopping{Reason: "cancelled", Term: 20 * time.Second, Kill: 5 * time.Second})
			return agenttest.Reply{Hang: true}
		}
		return echo(a)
	})
	o := s.order("hang")
	_, err := s.backend.Run(ctx, o, func(runner.Progress) {})
	var f *runner.Failure
	if !errors.As(err, &f) || f.Class != runner.Stopped {
		t.Fatalf("got %v, want it stopped", err)
	}
	o.Prompt.Text = "again"
	s.answer(o)
	s.saw("the conversation begun anew", []string{"again"}, nil)
}

// TestContractAttachments: what a prompt names with an @ is not attached.
func TestContractAttachments(t *testing.T) {
	t.Parallel()
	s := newSite(t, echo)
	must(t, os.WriteFile(filepath.Join(s.dir, "secret.txt"), []byte("the secret"), 0o600))
	must(t, os.MkdirAll(filepath.Join(s.dir, "sub", "deep"), 0o755))
	must(t, os.WriteFile(filepath.Join(s.dir, "sub", "deep", "other.txt"), []byte("the secret"), 0o600))
	const text = "see @secret.txt, @./ and @sub. Or @other.txt? Ask me@example.com about @google/gemini-cli"
	s.answer(s.order(text))
	if got := s.api.Asked()[0]; strings.Contains(string(got.Body), "the secret") || got.Last() != `see \@secret.txt, \@./ and \@sub. Or @other.txt? Ask me@example.com about @google/gemini-cli` {
		t.Errorf("the model is shown %q, want it without the files", got.Last())
	}
}

// TestContractUntrusted: of a directory that is not trusted nothing is obeyed; of one that is, its
// hooks and its GEMINI.md are.
func TestContractUntrusted(t *testing.T) {
	t.Parallel()
	for _, isUntrusted := range []bool{true, false} {
		s := newSite(t, echo)
		s.backend.IsUntrusted = isUntrusted
		must(t, os.Mkdir(filepath.Join(s.dir, ".gemini"), 0o755))
		for name, content := range map[string]string{
			"GEMINI.md":    "say banana",
			".env":         "GEMINI_MODEL=from-env",
			".gemini/.env": "GEMINI_MODEL=from-its-env",
			".gemini/settings.json": `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "name": "x", "command": "touch hooked"}]}]},
				"mcpServers": {"x": {"command": "touch", "args": ["served"]}}, "tools": {"allowed": ["run_shell_command"]}}`,
		} {
			must(t, os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600))
		}
		o := s.order("x")
		o.Prompt.Model = ""
		s.answer(o)
		asked := s.api.Asked()[0]
		got := map[string]bool{
			"GEMINI.md": strings.Contains(string(asked.Body), "say banana"), "a hook": exists(filepath.Join(s.dir, "hooked")),
			"a server": exists(filepath.Join(s.dir, "served")), "a rule": slices.Contains(asked.Tools, shell), "a variable": strings.HasPrefix(asked.Model, "from-"),
		}
		for what, is := range got {
			if is == isUntrusted {
				t.Errorf("untrusted %v: obeyed %s: got %v", isUntrusted, what, is)
			}
		}
	}
}

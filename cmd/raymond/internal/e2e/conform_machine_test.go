//go:build linux && world

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/state"
)

// player is a scripted model. It carries out the lines of the newest prompt such as "say: <goto>B</goto>",
// "write: /a/file" and "shell: command".
type player struct {
	mu    sync.Mutex
	seen  []clitest.Request
	hangs bool
	input int            // number of input tokens of requests that are answered with a tool call
	fails *clitest.Reply // the answer to every request; if nil, the prompt decides the answer
}

// set changes the behaviour of the model from now on.
func (p *player) set(change func(*player)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// requests returns all requests so far.
func (p *player) requests() []clitest.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func (p *player) answer(a clitest.Request) clitest.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, a)
	write, shell := lineOf(a.LastPrompt(), "write: "), lineOf(a.LastPrompt(), "shell: ")
	switch {
	case p.fails != nil:
		return *p.fails
	case p.hangs && strings.Contains(a.LastPrompt(), "wait here") && (shell == "" || a.Output != ""):
		return clitest.Reply{Text: "Let me think about that.", Hang: true}
	case write != "" && a.Output == "":
		return clitest.Reply{Write: write}
	case shell != "" && a.Output == "":
		return clitest.Reply{Shell: shell, Input: p.input, Output: min(p.input, 10)}
	}
	return clitest.Reply{Text: wantedAnswer(a), Input: 1000, Cached: 100, Output: 10}
}

// wantedAnswer returns the text in the "say:" line of the newest prompt that contains such a line. A prompt that only asks
// the model to continue contains none.
func wantedAnswer(a clitest.Request) string {
	for _, prompt := range slices.Backward(a.Prompts) {
		if text := lineOf(prompt, "say: "); text != "" {
			return text
		}
	}
	return ""
}

// lineOf returns what follows the word in the first line that starts with it, or "" if no line does.
func lineOf(text, word string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, word); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// shown finds the last request whose newest prompt has the first line last. It returns the first line of
// each prompt in that request, or nil if there is no such request.
func (p *player) shown(last string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range slices.Backward(p.seen) {
		if lines := firstLines(a.Prompts); len(lines) > 0 && lines[len(lines)-1] == last {
			return lines
		}
	}
	return nil
}

// count returns the number of requests whose newest prompt has the first line last.
func (p *player) count(last string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, a := range p.seen {
		if lines := firstLines(a.Prompts); len(lines) > 0 && lines[len(lines)-1] == last {
			n++
		}
	}
	return n
}

func firstLines(texts []string) []string {
	var lines []string
	for _, text := range texts {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		lines = append(lines, line)
	}
	return lines
}

// machine is a site with a vendor's CLI.
type machine struct {
	*sitetest.Site
	vendor clitest.Vendor
	model  *player
	flags  []string
	home   string
}

// install installs a vendor's CLI and returns its path.
func install(t *testing.T, v clitest.Vendor) string {
	t.Helper()
	i := slices.IndexFunc(clis.All, func(c clis.CLI) bool { return c.Abilities.Backend == v.Name })
	return v.Install(t, clis.All[i].Pin)
}

func newMachine(t *testing.T, v clitest.Vendor, workflow string) *machine {
	t.Helper()
	path := install(t, v)
	m := &machine{Site: sitetest.New(t, workflow), vendor: v, model: &player{}, flags: v.Flags(path), home: t.TempDir()}
	m.Env = append(v.Environ(t, v.Serve(t, m.model.answer), m.home), "TMPDIR="+t.TempDir(), "SIDE_EFFECTS="+m.SideEffects())
	m.AddMark()
	return m
}

// start starts the run.
func (m *machine) start(more ...string) *sitetest.Command {
	m.T.Helper()
	return m.Start(m.RunArgs(slices.Concat(m.flags, []string{"--budget", "0"}, more)...)...)
}

// run runs the workflow to its end and checks the exit code.
func (m *machine) run(code int, more ...string) sitetest.Outcome {
	m.T.Helper()
	o := waitLong(m.start(more...))
	assert.Check(m.T, is.Equal(o.Code, code), "run: got %v\nwant exit code %d", o, code)
	return o
}

// resume resumes the run, waits for its end and checks the exit code.
func (m *machine) resume(code int, more ...string) sitetest.Outcome {
	m.T.Helper()
	o := waitLong(m.Start(slices.Concat([]string{"resume", sitetest.RunID}, m.paths(), more)...))
	assert.Check(m.T, is.Equal(o.Code, code), "resume: got %v\nwant exit code %d", o, code)
	return o
}

// waitLong waits up to several minutes for a command that starts many CLIs, each of which takes
// seconds on a busy machine.
func waitLong(c *sitetest.Command) sitetest.Outcome {
	select {
	case <-c.Done:
	case <-time.After(8 * time.Minute):
	}
	return c.Wait()
}

// paths returns the flags that contain paths. A resume needs them again, because the run's state doesn't contain them.
func (m *machine) paths() []string {
	if i := slices.Index(m.flags, "--agent"); i >= 0 {
		return slices.Delete(slices.Clone(m.flags), i, i+2)
	}
	return nil
}

// wantShown checks the prompts in the last request for the last of the given prompts: the earlier prompts of the
// conversation and the newest one.
func (m *machine) wantShown(prompts ...string) {
	m.T.Helper()
	if got := m.model.shown(prompts[len(prompts)-1]); !slices.Equal(got, prompts) {
		m.T.Errorf("prompts in the conversation of %q: got %q, want %q", prompts[len(prompts)-1], got, prompts)
	}
}

// finished returns the events of finished prompt states.
func (m *machine) finished() (all []*state.StateFinished) {
	m.T.Helper()
	for _, e := range m.Events() {
		if b, ok := e.Body.(*state.StateFinished); ok {
			all = append(all, b)
		}
	}
	return all
}

func (m *machine) file(name string) string { return filepath.Join(m.Work, name) }

// replaceWork replaces the word WORK in the named states of the workflow with the path of the working directory.
func (m *machine) replaceWork(names ...string) {
	m.T.Helper()
	for _, name := range names {
		path := filepath.Join(m.Flow, name)
		text, err := os.ReadFile(path)
		assert.NilError(m.T, err)
		m.Write(path, strings.ReplaceAll(string(text), "WORK", m.Work))
	}
}

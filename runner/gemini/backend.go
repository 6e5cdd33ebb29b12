package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// Backend runs prompts with the Gemini CLI. It implements runner.Agent and may run any number of
// invocations at once. Its fields must not change after the first call.
type Backend struct {
	// Path is the CLI; "" for "gemini" on PATH. It is looked for, and its version checked,
	// before the first invocation.
	Path string
	// Installer installs the CLI where Path is "" and there is none on PATH; nil leaves it to
	// the user.
	Installer program.Installer
	// Tested is the newest version that this package was tested with, "" when nobody knows; a
	// newer one is noted.
	Tested string
	// Env is the whole base environment.
	Env []string
	// Proxy is what the CLI asks the API through; nil for nothing.
	Proxy *keyproxy.Proxy
	// NoNewPrivs keeps the CLI, and the tools that it runs, from gaining privileges. Linux only.
	NoNewPrivs bool
	// IsUntrusted says that the CLI may not obey what is in its directory: settings, hooks,
	// servers, GEMINI.md.
	IsUntrusted bool

	finder program.Finder
	once   sync.Once // the user's settings have been noted
}

var _ runner.Agent = (*Backend)(nil)

const (
	title        = "Gemini CLI"
	host         = "generativelanguage.googleapis.com"
	howToInstall = "install it with `npm install -g @google/gemini-cli`; it needs Node.js 20 or later"
)

// oldest is the first version that reports and accepts all that this package relies on.
var oldest = program.Version{0, 61, 0}

// Abilities is what the CLI can do.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendGemini, Title: title, Provider: "gcp.gemini",
		Resumes: true, Branches: true, ChoosesID: true, Cuts: true, Carries: true, HidesKey: true,
		PermissionModes: []string{"plan", "default", "dontAsk", "acceptEdits", "bypassPermissions"},
	}
}

// Abilities implements runner.Agent.
func (b *Backend) Abilities() runner.Abilities { return Abilities() }

// Needs implements runner.Agent.
func (b *Backend) Needs() runner.Needs {
	api := program.API{
		Backend: protocol.BackendGemini, Base: program.Variable(b.Env, "GOOGLE_GEMINI_BASE_URL"), Host: host, Proxy: b.Proxy,
	}
	needs := runner.Needs{Hosts: api.Hosts(), Read: program.Files(cmp.Or(b.Path, b.source().Name))}
	if file := program.Variable(b.Env, "GOOGLE_APPLICATION_CREDENTIALS"); file != "" {
		needs.Read = append(needs.Read, file)
	}
	if h := b.home(); filepath.IsAbs(h.user) {
		needs.Write = []string{h.ours("tmp"), h.ours("history")}
	}
	return needs
}

// Furnish makes what the CLI needs and writes in its own folder, with what is in that of another environment.
func (b *Backend) Furnish(theirs []string) error {
	from, to := home{userHome(theirs)}, b.home()
	if err := program.Copy(from.theirs(), to.theirs(), append([]string{"settings.json", "policies"}, shared...)...); err != nil {
		return err
	}
	if settings, err := from.userSettings(); err == nil && settings != nil { // else the CLI says what is wrong with it
		program.Servers(settings)
		data, err := json.Marshal(settings)
		if err == nil {
			err = files.Write(to.theirs("settings.json"), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(os.MkdirAll(to.ours("tmp"), 0o700), os.MkdirAll(to.ours("history"), 0o700))
}

// home is that of the CLI.
func (b *Backend) home() home {
	return home{userHome(b.Env)}
}

func (b *Backend) source() program.Source {
	return program.Source{
		Title: title, Name: "gemini", Path: b.Path, Installer: b.Installer, HowTo: howToInstall,
		Oldest: oldest, Tested: b.Tested, Env: b.versionEnv(), NoNewPrivs: b.NoNewPrivs,
	}
}

// Run implements runner.Backend for prompts. The error is nil or a *runner.Failure; a good result
// makes it nil, whatever the process did after that.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	began := time.Now()
	found, fail := b.finder.Find(ctx, b.source(), o, func(line string) { tell(runner.Progress{Note: line}) })
	prepared := time.Since(began)
	var ready ready
	if fail == nil {
		ready, fail = b.prepare(&o)
	}
	if fail != nil {
		return runner.Answer{Prepared: prepared, Cost: program.Nothing.Cost, Notes: ready.notes}, fail
	}
	s := newStream(o, tell)
	a, fail := b.ask(ctx, found.Path, ready, s)
	a.Notes, a.CLI, a.Prepared = append(ready.notes, a.Notes...), found.String(), prepared
	if fail != nil {
		return a, fail
	}
	return a, nil
}

// ready is what an invocation has been given before it starts.
type ready struct {
	rules string // the file with the rules for tools
	from  int64  // how long the transcript is
	notes []string
}

// prepare makes the home ready, with the conversation as the order wants it, and the prompt.
func (b *Backend) prepare(o *runner.Order) (ready, *runner.Failure) {
	if strings.TrimSpace(o.Prompt.Text) == "" {
		return ready{}, program.Fatal("prompt is empty: the agent CLI takes none that is blank")
	}
	if len(o.Prompt.Text) > maxPrompt-1024 {
		return ready{}, program.Fatal("the prompt is over %d MiB, which is more than the agent CLI reads", maxPrompt>>20)
	}
	h := b.home()
	if !filepath.IsAbs(h.user) {
		return ready{}, program.Machine("the agent CLI has no home folder: set %s", program.HomeVar())
	}
	if strings.Contains(h.ours(), ",") {
		return ready{}, program.Machine("the agent CLI reads no rules for tools below %s: it takes a comma for the end of a name", h.user)
	}
	note, err := h.prepare(o.Dir)
	if err != nil {
		return ready{}, program.Machine("prepare the folder of the agent CLI: %v", err)
	}
	notes := b.noted(note)
	toml, more := b.permissions(o.Prompt).rules()
	rules, err := h.rules(toml)
	if err != nil {
		return ready{}, program.Machine("write rules for the agent CLI: %v", err)
	}
	notes = append(notes, more...)
	if o.Prompt.Effort != "" {
		notes = append(notes, fmt.Sprintf("effort %q: %s knows no such setting", o.Prompt.Effort, title))
	}
	from, more, fail := h.open(o)
	o.Prompt.Text = plain(o.Prompt.Text, o.Dir)
	return ready{rules, from, append(notes, more...)}, fail
}

// noted returns a note about the user's settings, the first time.
func (b *Backend) noted(note string) (notes []string) {
	if note != "" {
		b.once.Do(func() { notes = []string{note} })
	}
	return notes
}

// open makes the conversation of an order ready, and returns how long its transcript is.
func (h home) open(o *runner.Order) (from int64, notes []string, _ *runner.Failure) {
	id := o.Prompt.SessionID
	if !transcripts.IsUUID(id) {
		return 0, nil, program.Fatal("session %.80q: %s takes UUIDs in lower case only", id, title)
	}
	if err := transcripts.OnlyFiles(h.chats(o.Dir), "session-*"); err != nil { // the CLI looks for one in all of them
		return 0, nil, program.Fatal("session gone: %v", err)
	}
	switch o.Prompt.Session {
	case state.Fresh:
		return 0, nil, h.forget(id)
	case state.Branch:
		if err := h.branch(o.Prompt.From, id, o.Dir); err != nil {
			return 0, nil, program.Fatal("session gone: branch it: %v", err)
		}
	}
	path, _, ok := h.find(id, o.Dir)
	if !ok {
		return 0, nil, nil // the CLI itself says so
	}
	if o.Prompt.Cut != nil && o.Prompt.Session == state.Resume {
		if err := transcripts.CutBack(path, *o.Prompt.Cut); err != nil {
			return 0, nil, program.Fatal("cut back transcript: %v", err)
		}
	}
	return h.resumable(id, path, o.Dir)
}

// forget removes what an invocation that was killed has left of a conversation: the CLI can
// neither resume nor begin one in which nobody has said anything.
func (h home) forget(id string) *runner.Failure {
	if _, _, ok := h.find(id, h.user); !ok {
		return nil
	}
	if err := h.clear(id, nil); err != nil {
		return program.Machine("remove what is left of session %s: %v", id, err)
	}
	return nil
}

// resumable checks that a conversation can be resumed in a directory, and returns how long its
// transcript is.
func (h home) resumable(id, path, dir string) (int64, []string, *runner.Failure) {
	if ok, err := holdsPrompt(path); err == nil && !ok {
		return 0, nil, program.Fatal("session gone: the transcript of %s holds no prompt", id)
	}
	if err := complete(path); err != nil {
		return 0, nil, program.Fatal("resume session %s: %v", id, err)
	}
	var notes []string
	if filepath.Dir(path) != h.chats(dir) {
		// It was held elsewhere: in another working copy, for one.
		if err := h.move(id, path, dir); err != nil {
			return 0, nil, program.Fatal("resume session %s: %v", id, err)
		}
		notes = append(notes, fmt.Sprintf("session %s was held in another directory: a copy is resumed here", id))
		path, _, _ = h.find(id, dir)
	}
	size, _ := transcripts.Size(path)
	return size, notes, nil
}

// permissions are what an order lets the agent do.
func (b *Backend) permissions(o runner.PromptOrder) permissions {
	mode, known := modes[o.Permissions.PermissionMode]
	if !known {
		mode = defaultMode
	}
	if o.Permissions.SkipPermissions {
		mode = yoloMode
	}
	disallowed := slices.Clone(o.Permissions.DisallowedTools)
	for tool, name := range map[string]string{"WebSearch": "googleSearch", "WebFetch": "urlContext"} {
		if !b.Proxy.Allows(protocol.BackendGemini, name) {
			disallowed = append(disallowed, tool)
		}
	}
	slices.Sort(disallowed)
	return permissions{mode: mode, allowed: o.Permissions.AllowedTools, disallowed: disallowed, isUntrusted: b.IsUntrusted}
}

// args returns the command line for an order.
func (b *Backend) args(o runner.PromptOrder, rules string) []string {
	h := b.home()
	args := []string{"--output-format", "stream-json", "--approval-mode", b.permissions(o).mode, "--policy=" + rules}
	if own := h.theirs("policies"); exists(own) {
		args = append(args, "--policy="+own) // else they would not count
	}
	if o.Model != "" {
		args = append(args, "--model="+o.Model)
	}
	if o.Session == state.Fresh {
		args = append(args, "--session-id="+o.SessionID)
	} else {
		args = append(args, "--resume="+o.SessionID)
	}
	return append(args, "--prompt=")
}

// env returns the CLI's environment: the base environment, the order's own variables, and what
// must hold for a run.
func (b *Backend) env(order []string) []string {
	h := b.home()
	auth := h.userAuth()
	if program.Variable(b.Env, "GEMINI_API_KEY") != "" {
		auth = byKey
	}
	trusts := "true"
	if b.IsUntrusted {
		trusts = "false"
	}
	ours := []string{
		homeVar + "=" + h.path(), authVar + "=" + auth, trustVar + "=" + trusts,
		// One process, which gets the signals.
		"GEMINI_CLI_NO_RELAUNCH=true",
		// Nobody is there to log in with a browser.
		"NO_BROWSER=true",
	}
	// A .env file of the checkout sets what is not set: it must not say where the key is sent.
	return slices.Concat([]string{"GOOGLE_GEMINI_BASE_URL=", "GOOGLE_VERTEX_BASE_URL="}, b.Env, ours, order)
}

// trustVar is the variable that says whether the CLI obeys what is in its directory.
const trustVar = "GEMINI_CLI_TRUST_WORKSPACE"

// versionEnv is the environment of a CLI that tells its version. Its home has no settings, so
// nothing else would keep it from a .env file of the checkout.
func (b *Backend) versionEnv() []string {
	return b.env([]string{homeVar + "=" + b.home().forVersion(), trustVar + "=false"})
}

// ask runs the CLI, through the proxy where there is one.
func (b *Backend) ask(ctx context.Context, path string, r ready, s *stream) (runner.Answer, *runner.Failure) {
	account := b.Proxy.Open(protocol.BackendGemini, s.Order.Mark)
	defer account.Close()
	defer account.Follow(s.Display.Usage)()
	s.costs.proxy = account
	exit, fail := s.Run(ctx, program.Invocation{
		Path: path, Args: b.args(s.Order.Prompt, r.rules), Env: b.env(slices.Concat(s.Order.Env, account.Env(s.Order.Env))), Stdout: s,
		Finished: s.finished, NoNewPrivs: b.NoNewPrivs, HowTo: howToInstall,
	})
	if fail != nil {
		return program.Nothing, fail
	}
	s.flush()
	account.Close() // whatever the process left behind uses nothing from here on
	a, fail := s.final(exit, b.said(s.Order, r.from))
	return a, program.Explain(fail, account)
}

// said is what the transcript has as the model's last words in an invocation.
func (b *Backend) said(o runner.Order, from int64) string {
	path, _, ok := b.home().find(o.Prompt.SessionID, o.Dir)
	if !ok {
		return ""
	}
	all, err := messages(path, from)
	if err != nil {
		return ""
	}
	return finalText(all)
}

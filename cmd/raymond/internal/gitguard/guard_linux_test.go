package gitguard

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
)

// git runs git as a person would.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TEMPLATE_DIR=",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// invoked is a backend that does what a test says.
type invoked func()

func (f invoked) Run(context.Context, runner.Order, func(runner.Progress)) (runner.Answer, error) {
	f()
	return runner.Answer{}, nil
}

// guarded is a repository with a hook and settings of its owner, and its guard.
type guarded struct {
	t    *testing.T
	dir  string
	g    *Guard
	told []string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	h := &guarded{t: t, dir: filepath.Join(t.TempDir(), "work")}
	git(t, filepath.Dir(h.dir), "init", "-q", h.dir)
	git(t, h.dir, "commit", "-q", "--allow-empty", "-m", "one")
	const settings = "[alias]\n\town = status\n[remote \"origin\"]\n\turl = https://example.com/o/r\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	own, err := os.ReadFile(h.path(".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, h.path(".git/config"), string(own)+settings)
	write(t, h.path(".git/hooks/pre-push"), "#!/bin/sh\n# the owner's\n")
	if h.g, err = New([]string{h.dir}, func(changed []string) { h.told = append(h.told, changed...) }); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *guarded) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

// agent, and script, run something as one.
func (h *guarded) agent(do func()) { h.run(h.g.Untrusted(invoked(do)), runner.Order{Dir: h.dir}) }

func (h *guarded) script(do func()) { h.run(h.g.Scripts(invoked(do)), runner.Order{Dir: h.dir}) }

func (h *guarded) run(b runner.Backend, o runner.Order) {
	h.t.Helper()
	if _, err := b.Run(h.t.Context(), o, nil); err != nil {
		h.t.Fatal(err)
	}
}

// settings are those of the repository as git reads them.
func (h *guarded) settings() string { return git(h.t, h.dir, "config", "--local", "--list") }

// ran is what marks a program of the agent's that git has run.
func (h *guarded) ran() bool {
	_, err := os.Lstat(h.path("../ran"))
	return err == nil
}

// TestGitOfAScriptRunsNothingOfAnAgent has an agent put a program wherever git looks for
// one, and then a script use git.
func TestGitOfAScriptRunsNothingOfAnAgent(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(h *guarded, program string){
		"a hook":         func(h *guarded, program string) { write(h.t, h.path(".git/hooks/pre-commit"), program) },
		"a changed hook": func(h *guarded, program string) { write(h.t, h.path(".git/hooks/pre-push"), program) },
		"a linked hook": func(h *guarded, p string) {
			write(h.t, h.path("p"), p)
			link(h.t, h.path("p"), h.path(".git/hooks/post-commit"))
		},
		"a folder of hooks": func(h *guarded, p string) { write(h.t, h.path("p/post-commit"), p); hookFolder(h, h.path("p")) },
		"core.hooksPath": func(h *guarded, p string) {
			write(h.t, h.path("p/pre-commit"), p)
			h.set("core.hooksPath", h.path("p"))
		},
		"core.fsmonitor":     func(h *guarded, p string) { write(h.t, h.path("p"), p); h.set("core.fsmonitor", h.path("p")) },
		"an alias":           func(h *guarded, p string) { write(h.t, h.path("p"), p); h.set("alias.own", "!"+h.path("p")) },
		"an include":         func(h *guarded, p string) { h.include(p) },
		"what isn't read":    func(h *guarded, p string) { h.include(p, "[user]\n\tname = \"x\\\n\"\n[ ") },
		"a worktree's own":   func(h *guarded, p string) { h.worktreeConfig(p) },
		"another repository": func(h *guarded, p string) { h.otherRepository(p) },
		"a bare one":         func(h *guarded, p string) { h.bareRepository(p) },
		"a common folder":    func(h *guarded, p string) { h.commonFolder(p) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, isGuarded := range []bool{false, true} {
				h := newGuarded(t)
				h.agent(func() { attack(h, "#!/bin/sh\ntouch '"+h.path("../ran")+"'\n") })
				use := func() {
					for _, args := range [][]string{{"status"}, {"commit", "-q", "--allow-empty", "-m", "two"}, {"own"}, {"push", "-q", h.remote(), "HEAD:refs/heads/x"}} {
						_ = exec.Command("git", append([]string{"-C", h.dir, "-c", "user.name=a", "-c", "user.email=a"}, args...)...).Run()
					}
				}
				if use(); !isGuarded {
					h.check(h.ran(), "the attack does nothing")
					continue
				}
				os.Remove(h.path("../ran"))
				h.script(use)
				h.check(!h.ran(), "git ran a program of the agent's")
				h.check(len(h.told) > 0, "nothing was told")
			}
		})
	}
}

func (h *guarded) check(ok bool, what string) {
	h.t.Helper()
	if !ok {
		h.t.Errorf("%s; told: %q", what, h.told)
	}
}

// remote is a bare repository to push to.
func (h *guarded) remote() string {
	dir := h.path("../remote")
	if _, err := os.Stat(dir); err != nil {
		git(h.t, h.t.TempDir(), "init", "-q", "--bare", dir)
	}
	return dir
}

func (h *guarded) set(key, value string) { git(h.t, h.dir, "config", key, value) }

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func hookFolder(h *guarded, dir string) {
	os.RemoveAll(h.path(".git/hooks"))
	link(h.t, dir, h.path(".git/hooks"))
}

// include has a file included that runs a program, in front of some text.
func (h *guarded) include(program string, more ...string) {
	write(h.t, h.path("../p"), program)
	write(h.t, h.path("../more"), "[core]\n\tfsmonitor = "+h.path("../p")+"\n")
	data, _ := os.ReadFile(h.path(".git/config"))
	text := string(data) + "[include]\n\tpath = " + h.path("../more") + "\n"
	if len(more) > 0 { // git reads this, and a parser might not
		text = "[user]\n\tname = a\\\n b ; \"\n" + text
	}
	write(h.t, h.path(".git/config"), text)
}

func (h *guarded) worktreeConfig(program string) {
	write(h.t, h.path("../p"), program)
	h.set("extensions.worktreeConfig", "true")
	git(h.t, h.dir, "config", "--worktree", "core.fsmonitor", h.path("../p"))
}

func (h *guarded) otherRepository(program string) {
	other := h.path("other")
	git(h.t, h.t.TempDir(), "init", "-q", other)
	write(h.t, filepath.Join(other, ".git", "hooks", "pre-commit"), program)
	os.Rename(h.path(".git"), h.path("../was"))
	write(h.t, h.path(".git"), "gitdir: "+filepath.Join(other, ".git")+"\n")
}

func (h *guarded) bareRepository(program string) {
	write(h.t, h.path("../p"), program)
	os.Rename(h.path(".git"), h.path("../was"))
	git(h.t, h.dir, "init", "-q", "--bare", h.dir)
	h.set("alias.own", "!"+h.path("../p"))
}

func (h *guarded) commonFolder(program string) {
	other := h.path("other")
	git(h.t, h.t.TempDir(), "clone", "-q", h.dir, other)
	write(h.t, filepath.Join(other, ".git", "hooks", "pre-commit"), program)
	write(h.t, h.path(".git/commondir"), filepath.Join(other, ".git")+"\n")
}

// TestHonestChangesStay: those that agents may make, what scripts make, and what the
// owner had before.
func TestHonestChangesStay(t *testing.T) {
	t.Parallel()
	h := newGuarded(t)
	before := h.settings()
	h.script(func() { h.set("core.editor", "vi") })
	h.agent(func() {
		h.set("user.name", `A "quoted" \ name; # `)
		h.set("branch.main.remote", "origin")
		h.set("remote.origin.url", "https://example.com/other")
		git(t, h.dir, "remote", "add", "fork", "https://example.com/fork")
	})
	var during string
	h.script(func() { during = h.settings(); write(t, h.path(".git/hooks/post-merge"), "#!/bin/sh\n") })
	for _, want := range []string{"core.editor=vi", "alias.own=status", `user.name=A "quoted" \ name; # `, "branch.main.remote=origin",
		"remote.origin.url=https://example.com/other", "remote.fork.url=https://example.com/fork"} {
		if !slices.Contains(strings.Split(during, "\n"), want) {
			t.Errorf("settings: got\n%s\nwant %q in them, as well as\n%s", during, want, before)
		}
	}
	if len(h.told) > 0 {
		t.Errorf("told %q, want nothing", h.told)
	}
	h.agent(func() { write(t, h.path(".git/hooks/post-merge"), "#!/bin/sh\n# evil\n") })
	h.script(func() {})
	if data, _ := os.ReadFile(h.path(".git/hooks/post-merge")); string(data) != "#!/bin/sh\n" {
		t.Errorf("hook of a script: got %q, want it as the script left it", data)
	}
	if want := []string{h.path(".git/hooks/post-merge")}; !slices.Equal(h.told, want) {
		t.Errorf("told %q, want %q once", h.told, want)
	}
}

// TestWhatAnAgentLeavesBesideAScriptDoesNotCount: nothing of it becomes trusted because a
// script ran at the same time, or in a cage.
func TestWhatAnAgentLeavesBesideAScriptDoesNotCount(t *testing.T) {
	t.Parallel()
	h := newGuarded(t)
	hook := h.path(".git/hooks/pre-commit")
	h.script(func() { h.agent(func() { write(t, hook, "evil") }) })
	h.agent(func() { h.script(func() { write(t, hook, "evil") }) })
	h.run(h.g.Scripts(invoked(func() { write(t, hook, "evil") })), runner.Order{Dir: h.dir, Script: runner.ScriptOrder{Cage: &cage.Cage{}}})
	h.script(func() {
		if _, err := os.Lstat(hook); err == nil {
			t.Error("the hook of an agent is there")
		}
	})
}

// TestNothingHoldsUpAScript: neither a pipe, nor a folder, nor a file of terabytes.
func TestNothingHoldsUpAScript(t *testing.T) {
	t.Parallel()
	h := newGuarded(t)
	before := h.settings()
	for _, spoil := range []func(path string) error{
		func(path string) error { return syscall.Mkfifo(path, 0o644) },
		func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o755) },
		func(path string) error {
			write(t, path, "")
			return os.Truncate(path, 1<<40)
		},
		func(path string) error { return os.Symlink("/dev/zero", path) },
		func(string) error { return nil }, // it is gone
	} {
		h.agent(func() {
			for _, name := range []string{".git/config", ".git/config.worktree", ".git/hooks/pre-push", ".git/hooks/new"} {
				os.RemoveAll(h.path(name))
				if err := spoil(h.path(name)); err != nil {
					t.Fatal(err)
				}
			}
		})
		h.script(func() {
			if got := h.settings(); got != before {
				t.Errorf("settings: got\n%s\nwant\n%s", got, before)
			}
			hooks, err := hooksIn(h.path(".git/hooks"))
			for name := range hooks {
				if name != "pre-push" && !strings.HasSuffix(name, ".sample") {
					t.Errorf("hook %q of an agent is there", name)
				}
			}
			if !strings.Contains(string(hooks["pre-push"].data), "owner") || err != nil {
				t.Errorf("hooks: got %v, %v; want the owner's", hooks, err)
			}
		})
	}
}

// TestLinksOfAgentsLeadNowhere: what they lead to, outside of the cage, is neither changed
// nor removed.
func TestLinksOfAgentsLeadNowhere(t *testing.T) {
	t.Parallel()
	h := newGuarded(t)
	before, dir := h.settings(), t.TempDir()
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder", "file")
	write(t, file, "[core]\n\tfsmonitor = x\n")
	write(t, folder, "kept")
	h.agent(func() {
		for name, target := range map[string]string{".git/config": file, ".git/config.worktree": filepath.Dir(folder)} {
			os.RemoveAll(h.path(name))
			if err := os.Symlink(target, h.path(name)); err != nil {
				t.Fatal(err)
			}
		}
	})
	h.script(func() {
		if got := h.settings(); got != before {
			t.Errorf("settings: got\n%s\nwant\n%s", got, before)
		}
	})
	for path, want := range map[string]string{file: "[core]\n\tfsmonitor = x\n", folder: "kept"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
}

// TestFoldersOfOthersAreLeftAlone: an agent names folders that it can't write to as git's
// own, of which the guard would remove hooks and rewrite settings.
func TestFoldersOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, point := range map[string]func(h *guarded, victim string){
		"by a file in the place of the folder": func(h *guarded, victim string) {
			os.RemoveAll(h.path(".git"))
			write(h.t, h.path(".git"), "gitdir: "+victim+"\n")
		},
		"by a link in its place": func(h *guarded, victim string) {
			os.RemoveAll(h.path(".git"))
			if err := os.Symlink(victim, h.path(".git")); err != nil {
				h.t.Fatal(err)
			}
		},
		"as the common folder": func(h *guarded, victim string) { write(h.t, h.path(".git/commondir"), victim+"\n") },
		"as a worktree": func(h *guarded, victim string) {
			write(h.t, h.path(".git/worktrees/own/HEAD"), "x")
			if err := os.Symlink(victim, h.path(".git/worktrees/evil")); err != nil {
				h.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, victim := newGuarded(t), t.TempDir()
			for _, file := range []string{"config", "config.worktree", "hooks/pre-push"} {
				write(t, filepath.Join(victim, file), "[alias]\n\tx = !y\n")
			}
			h.agent(func() { point(h, victim) })
			_, err := h.g.Scripts(invoked(func() { t.Error("the script was run") })).Run(t.Context(), runner.Order{Dir: h.dir}, nil)
			if err == nil {
				t.Error("script: got no error")
			}
			for _, file := range []string{"config", "config.worktree", "hooks/pre-push"} {
				if got, err := os.ReadFile(filepath.Join(victim, file)); err != nil || string(got) != "[alias]\n\tx = !y\n" {
					t.Errorf("%s: got %q, %v, want it untouched", file, got, err)
				}
			}
		})
	}
}

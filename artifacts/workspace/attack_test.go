//go:build unix

package workspace_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// homeWith returns an environment whose home directory contains the given git settings.
func homeWith(t *testing.T, settings string) []string {
	t.Helper()
	home := t.TempDir()
	write(t, home, ".gitconfig", settings)
	write(t, home, "git/config", settings)
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name != "HOME" && name != "XDG_CONFIG_HOME" && !strings.HasPrefix(name, "GIT_") && !strings.Contains(strings.ToLower(name), "proxy") {
			env = append(env, v)
		}
	}
	return env
}

// TestSettingsDoNotRedirectTheToken checks that no settings of the checkout, of the worktree or of the user
// make the fetch of a restore send its token to another server.
func TestSettingsDoNotRedirectTheToken(t *testing.T) {
	old, saved := worked(t)
	all := map[string]string{
		"proxy":              "[http]\n\tproxy = THIEF\n",
		"proxy of the forge": "[http \"FORGE/\"]\n\tproxy = THIEF\n",
		"proxy of origin":    "[remote \"origin\"]\n\tproxy = THIEF\n",
		"instead of":         "[url \"THIEF/\"]\n\tinsteadOf = FORGE/\n",
		"another header":     "[http]\n\textraHeader = X-Planted: yes\n",
		"include":            "[include]\n\tpath = PLANTED\n",
		"include if":         "[includeIf \"gitdir:/\"]\n\tpath = PLANTED\n",
		"cookies":            "[http]\n\tcookieFile = PLANTED\n\tsaveCookies = true\n",
		"helper":             "[credential]\n\thelper = \"!touch MARK\"\n",
		"ask pass":           "[core]\n\taskPass = MARKER\n",
		"alias":              "[alias]\n\tfetch = !touch MARK\n\tconfig = !touch MARK\n",
		"upload pack":        "[remote \"origin\"]\n\tuploadpack = MARKER\n\tvcs = planted\n",
		"trace":              "[trace2]\n\teventTarget = MARK\n\tnormalTarget = MARK\n",
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		for j, where := range []string{"config", "config.worktree", "home"} {
			if (i+j)%everyCase != 0 {
				continue
			}
			t.Run(name+" in "+where, func(t *testing.T) {
				secret := "basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:secret"))
				thief, stolen := listener(t, http.NotFound)
				forge, requests := listener(t, http.NotFound)
				here := clone(t, otherRemote(t, "x"))
				mark := filepath.Join(here.root, "mark")
				installtest.WriteProgram(t, filepath.Join(here.root, "marker"), "#!/bin/sh\ntouch '"+mark+"'\n")
				write(t, here.root, "planted", "[http]\n\tproxy = "+thief.URL+"\n")
				git(t, here.checkout(), "remote", "set-url", "origin", forge.URL+"/owner/repo")
				text := strings.NewReplacer("THIEF", thief.URL, "FORGE", forge.URL, "PLANTED", filepath.Join(here.root, "planted"),
					"MARKER", filepath.Join(here.root, "marker"), "MARK", mark).Replace(all[name])
				home := ""
				switch where {
				case "home":
					home = text
				case "config.worktree":
					git(t, here.checkout(), "config", "extensions.worktreeConfig", "true")
					write(t, here.checkout(), ".git/config.worktree", text)
				default:
					write(t, here.checkout(), ".git/config", read(t, here.checkout(), ".git/config")+text)
				}
				g := &workspace.Git{Env: homeWith(t, home), Token: "secret", ServerURL: forge.URL}
				_, err := g.Restore(t.Context(), workspace.RestoreRequest{From: saved, Dir: relocated(old, here)})
				assert.Check(t, isConflict(err), "error: got %v, want a conflict, because the server has no such commit", err)
				assert.Check(t, len(requests.headers) > 0 && requests.headers[0] == secret, "token at the right server: got %q, want %q", requests.headers, secret)
				assert.Check(t, is.Len(stolen.hosts, 0), "server of the attacker: got requests for %q with %q, want none", stolen.hosts, stolen.headers)
				_, err = os.Stat(mark)
				assert.Check(t, err != nil, "a program or file of the attacker was used")
			})
		}
	}
}

// TestTokenDoesNotFollowRedirects checks that a fetch fails, and sends no token, if the server redirects it
// to another server.
func TestTokenDoesNotFollowRedirects(t *testing.T) {
	thief, stolen := listener(t, http.NotFound)
	forge, requests := listener(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.String(), http.StatusMovedPermanently)
	})
	_, err := fetching(t, new(workspace.Git), forge.URL+"/owner/repo", forge.URL)
	assert.Check(t, err != nil && len(requests.hosts) > 0 && len(stolen.hosts) == 0,
		"restore: got error %v, %d requests to the forge and %q to the other server, want an error, some and none", err, len(requests.hosts), stolen.headers)
}

// TestProxyOfTheJobIsUsed checks that fetches use the proxy in the job's environment, which agents can't
// change.
func TestProxyOfTheJobIsUsed(t *testing.T) {
	proxy, requests := listener(t, http.NotFound)
	g := &workspace.Git{Env: append(homeWith(t, ""), "http_proxy="+proxy.URL)}
	_, err := fetching(t, g, "http://forge.invalid/owner/repo", "http://forge.invalid")
	assert.Check(t, err != nil && len(requests.hosts) > 0 && requests.hosts[0] == "forge.invalid", "proxy of the job: got requests for %q (restore: %v)", requests.hosts, err)
}

// fifo replaces a file by a named pipe.
func fifo(t *testing.T, path string) {
	t.Helper()
	os.RemoveAll(path)
	assert.NilError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), syscall.Mkfifo(path, 0o666)))
}

// TestGitNeverBlocks puts pipes, devices and sparse files of terabytes at paths that git reads. It checks
// that a save ends soon and doesn't fill the memory. Whether the save succeeds doesn't matter.
func TestGitNeverBlocks(t *testing.T) {
	const tera = 10 << 40
	t.Cleanup(func() {
		var own, used syscall.Rusage
		err := errors.Join(syscall.Getrusage(syscall.RUSAGE_SELF, &own), syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used))
		// On Linux, the measured peak memory of a child includes roughly the memory that its parent had when it
		// forked. So the limit depends on the memory of this process.
		if most := max(256<<10, own.Maxrss+own.Maxrss/4); err != nil || runtime.GOOS == "linux" && used.Maxrss > most {
			t.Errorf("memory of the largest git: got %d KiB (%v), want at most %d", used.Maxrss, err, most)
		}
	})
	plants := map[string]func(path string){
		"pipe":   func(path string) { fifo(t, path) },
		"device": func(path string) { os.RemoveAll(path); os.Symlink("/dev/zero", path) },
		"sparse": func(path string) {
			os.RemoveAll(path)
			assert.NilError(t, errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, tera)), "set TMPDIR to a file system with files of that size")
		},
	}
	for i, name := range []string{
		".git/config", ".git/HEAD", ".git/index", ".git/packed-refs", ".git/shallow", ".git/info/exclude", ".git/info/attributes",
		".git/info/grafts", ".git/objects/info/alternates", ".git/refs/heads/odd", ".git/worktrees/odd/gitdir", ".git/commondir",
		".git/objects/pack/pack-0000000000000000000000000000000000000000.idx", ".gitignore", ".gitattributes", ".gitmodules",
		".git/config.worktree", ".git", "included", "home", ".git/modules/x/config", "ignores",
	} {
		for j, how := range slices.Sorted(maps.Keys(plants)) {
			if (i+j)%everyCase != 0 {
				continue
			}
			t.Run(how+" as "+name, func(t *testing.T) {
				t.Parallel()
				s, dir, base := checkout(t)
				write(t, dir, "a", "changed\n")
				env, path := homeWith(t, ""), filepath.Join(dir, name)
				switch name {
				case "included", "ignores":
					path = filepath.Join(s.root, name)
					git(t, dir, "config", map[string]string{"included": "include.path", "ignores": "core.excludesFile"}[name], path)
				case "home":
					path = filepath.Join(strings.TrimPrefix(env[0], "HOME="), ".gitconfig")
				case ".git/config.worktree":
					git(t, dir, "config", "extensions.worktreeConfig", "true")
				}
				os.MkdirAll(filepath.Dir(path), 0o777)
				plants[how](path)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				_, err := (&workspace.Git{Env: env}).Save(ctx, workspace.SaveRequest{Dirs: []string{dir}, Base: base, To: t.TempDir()})
				assert.NilError(t, ctx.Err(), "save: it did not end in time")
				if slices.Contains([]string{"included", "home", "ignores", ".git/modules/x/config", ".git/info/grafts"}, name) {
					assert.Check(t, err, "git does not read this file")
				}
			})
		}
	}
}

// TestPipeBehindALinkIsFound checks that a save fails if a link leads git to a directory that contains a
// pipe.
func TestPipeBehindALinkIsFound(t *testing.T) {
	_, dir, base := checkout(t)
	for _, name := range []string{"objects/pack", "refs", "worktrees"} {
		sh(t, dir, "n=.git/"+name+"; mkdir -p elsewhere; mkfifo elsewhere/odd; [ ! -e $n ] || mv $n own; ln -s $PWD/elsewhere $n")
		_, err := (&workspace.Git{}).Save(t.Context(), workspace.SaveRequest{Dirs: []string{dir}, Base: base, To: t.TempDir()})
		assert.Check(t, is.ErrorContains(err, "not a regular file"), "save with a pipe behind the link %s", name)
		sh(t, dir, "n=.git/"+name+"; rm -r $n elsewhere; [ ! -e own ] || mv own $n")
	}
}

// TestGitHasATimeLimit checks that a save fails if git blocks at a file that is not checked before git runs.
func TestGitHasATimeLimit(t *testing.T) {
	_, dir, base := checkout(t)
	pipe := filepath.Join(dir, "dir/.gitignore")
	fifo(t, pipe)
	write(t, dir, "dir/new", "new\n")
	saving := workspace.SaveRequest{Dirs: []string{dir}, Base: base, To: t.TempDir()}
	for within := time.Second; ; within *= 4 {
		g := &workspace.Git{}
		g.Within(within)
		_, err := g.Save(t.Context(), saving)
		says := fmt.Sprintf(" took more than %v", within)
		if strings.Contains(fmt.Sprint(err), "git status"+says) {
			break
		}
		// On a busy machine, an earlier git process that doesn't block may also exceed a short limit. The save
		// is then repeated with a longer one.
		if within > time.Minute || !strings.Contains(fmt.Sprint(err), says) {
			t.Fatalf("save with a limit of %v for each git: got error %v, want one that says so", within, err)
		}
	}
}

// TestGitOfAnAgentIsNotUsed checks that Find ignores programs named git in directories that agents can
// write to.
func TestGitOfAnAgentIsNotUsed(t *testing.T) {
	root, home, linked := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "linked")
	planted := []string{filepath.Join(root, "bin"), filepath.Join(home, ".local/bin")}
	sh(t, root, fmt.Sprintf("mkdir -p bin %[2]s; echo '#!/bin/sh' | tee bin/git > %[2]s/git; chmod +x bin/git %[2]s/git; ln -s $PWD/bin %[1]s", linked, planted[1]))
	want, err := exec.LookPath("git")
	assert.NilError(t, err)
	path := strings.Join(append(append(planted, linked, "bin", "."), os.Getenv("PATH")), ":")
	t.Chdir(root)
	got, err := workspace.Find([]string{"PATH=" + path, "HOME=" + home}, root)
	assert.NilError(t, err)
	assert.Check(t, is.Equal(got, want))
	got, err = workspace.Find([]string{"PATH=" + planted[0], "HOME=" + home}, root)
	assert.Check(t, err != nil, "only agents have a git: got %q, want an error", got)
}

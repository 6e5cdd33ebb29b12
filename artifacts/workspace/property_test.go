//go:build unix

package workspace_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// agent imitates an agent that makes random changes to worktrees.
type agent struct {
	*testing.T
	*rand.Rand
	site  site
	trees []string
	log   []string
}

var oddNames = []string{
	"a", "dir/b", "dir", "link", "run.sh", "crlf", "new/deep/er/c", "new", "with blank", "line\nbreak", "ünï/çödé", "-dash", "--",
	"quo\"te", "tab\tname", `back\slash`, ".hidden/x", ":(glob)*", "star*[a]", "trailing ", "\xff\xfe", "ignored", "x.o", "#hash", "0/work/a", "big.lfs", "new/big.lfs",
}

func (a *agent) name() string { return oddNames[a.IntN(len(oddNames))] }

func (a *agent) text() string {
	return []string{"", "x", "text\n", "1\r\n2\r\n", "mixed\r\n\n", "\x00\x01binary", "#!/bin/sh\necho\n", strings.Repeat("long ", 2000)}[a.IntN(8)] +
		fmt.Sprint(a.IntN(3))
}

// act makes one random change and adds it to the log.
func (a *agent) act() {
	dir, name := a.trees[a.IntN(len(a.trees))], a.name()
	path := filepath.Join(dir, name)
	acts := []struct {
		what string
		do   func()
	}{
		{"write", func() { os.MkdirAll(filepath.Dir(path), 0o777); os.WriteFile(path, []byte(a.text()), 0o666) }},
		{"replace", func() { os.RemoveAll(path); os.WriteFile(path, []byte(a.text()), 0o666) }},
		{"remove", func() { os.RemoveAll(path) }},
		{"mode", func() { os.Chmod(path, os.FileMode([]uint32{0o644, 0o755}[a.IntN(2)])) }},
		{"link", func() { os.RemoveAll(path); os.Symlink(a.name(), path) }},
		{"rename", func() { os.Rename(path, filepath.Join(dir, a.name())) }},
		{"stage", func() { try(dir, "add", "--", name) }},
		{"stage all", func() { try(dir, "add", "-A") }},
		{"stage by force", func() { try(dir, "add", "-f", "--", name) }},
		{"announce", func() { try(dir, "add", "-N", "--", name) }},
		{"unstage", func() { try(dir, "reset", "-q", "--", name) }},
		{"untrack", func() { try(dir, "rm", "-q", "-r", "--cached", "--", name) }},
		{"move", func() { try(dir, "mv", "--", name, a.name()) }},
		{"commit", func() { try(dir, "commit", "-q", "-m", "c"+fmt.Sprint(a.IntN(1000))) }},
		{"commit all", func() { try(dir, "commit", "-q", "-a", "-m", "c"+fmt.Sprint(a.IntN(1000))) }},
		{"amend", func() { try(dir, "commit", "-q", "--amend", "-m", "amended"+fmt.Sprint(a.IntN(1000))) }},
		{"branch", func() { try(dir, "checkout", "-q", "-b", "b/"+fmt.Sprint(a.IntN(4))) }},
		{"switch", func() { try(dir, "checkout", "-q", "b/"+fmt.Sprint(a.IntN(4))) }},
		{"orphan", func() { try(dir, "checkout", "-q", "--orphan", "orphan"+fmt.Sprint(a.IntN(4))) }},
		{"detach", func() { try(dir, "checkout", "-q", "--detach") }},
		{"undo", func() { try(dir, "reset", "-q", "--soft", "HEAD~1") }},
		{"merge", func() { try(dir, "merge", "-q", "b/"+fmt.Sprint(a.IntN(4))) }},
		{"pick", func() { try(dir, "cherry-pick", "b/"+fmt.Sprint(a.IntN(4))) }},
		{"drop branch", func() { try(dir, "branch", "-q", "-D", "b/"+fmt.Sprint(a.IntN(4))) }},
		{"worktree", func() {
			linked := filepath.Join(a.site.root, []string{"beside", "checkout/in side", "be/low"}[a.IntN(3)])
			args := [][]string{{"-b", "b/" + fmt.Sprint(a.IntN(4))}, {"--detach"}}[a.IntN(2)]
			if _, err := try(a.site.checkout(), append(append([]string{"worktree", "add", "-q"}, args...), linked)...); err == nil {
				a.trees = append(a.trees, linked)
			}
		}},
		{"pipe", func() { syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666) }},
		{"repository", func() { git(a, dir, "init", "-q", "inner") }},
	}
	n := a.IntN(len(acts))
	if a.IntN(2) == 0 {
		n = a.IntN(8) // the first eight acts change files, which is done more often than the other acts
	}
	acts[n].do()
	a.log = append(a.log, fmt.Sprintf("%s %q in %s", acts[n].what, name, filepath.Base(dir)))
}

// TestWorkIsRestoredExactly makes random changes to a checkout, saves them, and restores them twice in a
// fresh checkout. After each restore it compares the two checkouts.
func TestWorkIsRestoredExactly(t *testing.T) {
	remote := sharedRemote(t)
	lfs := filepath.Join(t.TempDir(), "clean")
	installtest.WriteProgram(t, lfs, pointing)
	for _, kind := range []struct {
		name       string
		args       []string
		attributes string
	}{
		{"full", nil, ""}, {"shallow", []string{"--depth=1"}, ""}, {"line ends", []string{"-c", "core.autocrlf=true"}, ""},
		{"line ends by attributes", []string{"-c", "core.eol=crlf"}, "* text=auto\n"},
		{"LFS", []string{"-c", "filter.lfs.clean=" + lfs, "-c", "filter.lfs.required=true", "-c", "filter.lfs.smudge=cat"}, "*.lfs filter=lfs -text\n"},
	} {
		for n := range uint64(seeds) {
			seed := (n + 18) % 20 // begin with seed 18, because it covers converted files
			t.Run(fmt.Sprintf("%s %d", kind.name, seed), func(t *testing.T) {
				t.Parallel()
				old, here := clone(t, remote, kind.args...), clone(t, remote, kind.args...)
				for _, s := range []site{old, here} {
					write(t, s.checkout(), ".git/info/attributes", kind.attributes)
				}
				a := &agent{t, rand.New(rand.NewPCG(seed, 1)), old, []string{old.checkout()}, nil}
				base := head(t, old.checkout())
				for range 10 + a.IntN(50) {
					a.act()
				}
				to, before := t.TempDir(), everything(t, old.root, objectNames)
				save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: a.trees, Base: base, To: to})
				assert.Check(t, is.DeepEqual(everything(t, old.root, objectNames), before), "checkout and worktrees after the save")
				for range 2 {
					mustRestore(t, to, old, here)
					for _, dir := range a.trees {
						there := relocated(old, here)(dir)
						assert.Check(t, is.DeepEqual(asSaved(t, there), asSaved(t, dir)), "restored worktree %s", there)
					}
					now := branches(t, here.checkout())
					for name, id := range branches(t, old.checkout()) {
						assert.Check(t, is.Equal(now[name], id), "branch %q", name)
					}
					if t.Failed() {
						t.Fatalf("acts: %s", strings.Join(a.log, "\n"))
					}
				}
			})
		}
	}
}

// pointing is a clean filter that works like git LFS. It leaves pointers unchanged.
const pointing = `#!/bin/sh
cat > "$0.$$"
if head -n 1 "$0.$$" | grep -q '^version https://git-lfs'; then cat "$0.$$"; else
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n' "$(sha256sum < "$0.$$" | cut -d ' ' -f 1)" "$(wc -c < "$0.$$")"
fi
rm "$0.$$"
`

// asSaved returns the picture of a worktree without details that a save doesn't contain: contents stored by
// LFS, nested repositories, and entries of git add -N. In a worktree that a restore must create, line ends
// may differ, so they are made equal.
func asSaved(t *testing.T, dir string) picture {
	t.Helper()
	p := pictureOf(t, dir)
	var status []string
	index := strings.Split(p.Index, "\x00")
	for line := range strings.SplitSeq(p.Status, "\x00") {
		if f := strings.SplitN(line, " ", 9); len(f) == 9 && f[1] == ".A" {
			line = "? " + f[8]
			index = slices.DeleteFunc(index, func(entry string) bool { return strings.HasSuffix(entry, "\t"+f[8]) })
		}
		if line != "? inner/" {
			status = append(status, line)
		}
	}
	slices.Sort(status)
	p.Status, p.Index = strings.Join(status, "\x00"), strings.Join(index, "\x00")
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	isLinked := err == nil && !info.IsDir() && strings.Contains(t.Name(), "line_ends")
	for name, content := range p.Files {
		if strings.HasSuffix(name, ".lfs") {
			delete(p.Files, name)
		} else if isLinked {
			p.Files[name] = strings.ReplaceAll(content, `\r\n`, `\n`)
		}
	}
	return p
}

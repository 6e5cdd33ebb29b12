package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	shown "github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// HandOverRequest is the work of agents that is handed over to somebody who must not touch what they
// wrote.
type HandOverRequest struct {
	Dir             string            // absolute; where the agent works
	Others          map[string]string // directories of other agents, by name: those in other worktrees of the repository become branches
	Base            string            // the commit of the checkout; without one, or where the agent works elsewhere, nothing is handed over
	Date            time.Time         // the date of the commits that are made: with the same work, they have the same hash
	Workflows       bool              // changes of what forges run (.github and the like) are part of it
	UntrackedBefore []string          // what Untracked returned before the first agent
	To              string            // an existing, empty folder, which agents can neither read nor write
}

// HandOverResult says where the work is.
type HandOverResult struct {
	Repository  string // a bare one
	MissingList string // a file that names what is not in it, one a line
}

// handLimit is how many bytes may be handed over, packed; and those of all files that are not committed.
const handLimit = 1 << 30

// HandOver makes a bare repository of the work: with hashes that were checked, without hooks, a
// remote or objects of another one. Its HEAD is at the commit of the checkout, on no branch, and where
// the agents' history leads beyond that commit it is shallow. Branch work is HEAD of the agent, with a commit on
// top that has what isn't committed; raymond/NAME is that of another agent. Files are added as git does it, but without filters.
//
// The repository leaves out files stored in git LFS, work in submodules, untracked files that existed before the first agent,
// and, unless h.Workflows is set, changes to files that forges run. If a commit changed such a file, one commit on top of the
// checkout's replaces all commits of its branch. Exceeding a limit is an error.
func (g *Git) HandOver(ctx context.Context, h HandOverRequest) (HandOverResult, error) {
	t, err := g.open()
	if err != nil {
		return HandOverResult{}, err
	}
	defer t.close()
	x := &giver{HandOverRequest: h, git: t, most: cmp.Or(g.handed, handLimit), lacks: map[string]string{}, known: map[string]bool{}}
	for _, path := range h.UntrackedBefore {
		x.known[path] = true
	}
	over := HandOverResult{filepath.Join(h.To, "work.git"), filepath.Join(h.To, "lacks")}
	if err := x.all(ctx, over.Repository); err != nil {
		return HandOverResult{}, err
	}
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(x.lacks)) {
		lines.WriteString(shown.Inert(shown.Escape(what+": "+x.lacks[what])) + "\n")
	}
	return over, files.WriteNew(over.MissingList, []byte(lines.String()), 0o600)
}

// giver hands over.
type giver struct {
	HandOverRequest
	git      *tool
	lent     string // a repository of ours with the commits on top, which borrows all else
	branches []*given
	ends     []string // the commits that the history begins with
	most     int64
	size     int64             // of the files so far
	lacks    map[string]string // why something is not there, by its name
	known    map[string]bool
}

// given is a branch that is handed over.
type given struct {
	branch
	*place
}

// label is how what the branch lacks is named.
func (b *given) label(path string) string {
	return strings.TrimPrefix(b.Name+":", "work:") + path
}

func (x *giver) all(ctx context.Context, to string) error {
	err := x.places(ctx)
	if err != nil {
		return err
	}
	p := x.branches[0].place
	if x.lent, err = x.git.shadow(ctx, filepath.Join(x.git.temp, "lent"), p.common); err != nil {
		return err
	}
	missing, err := x.git.missing(ctx, call{dir: x.lent, bare: x.lent}, []string{cmp.Or(x.Base, "none")})
	if err != nil || len(missing) > 0 {
		return cmp.Or(err, fmt.Errorf("%s: the repository has no commit of a checkout (%q) that the work could be shown against", p.top, x.Base))
	}
	for _, b := range x.branches {
		if b.ID, err = x.tip(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", b.top, err)
		}
	}
	if err := x.findEnds(ctx); err != nil {
		return err
	}
	if err := x.copy(ctx, to); err != nil {
		return err
	}
	c := call{dir: to, bare: to}
	var moves []move
	for _, b := range x.branches {
		if err := x.clean(ctx, c, b); err != nil {
			return err
		}
		moves = append(moves, move{"refs/heads/" + b.Name, "", b.ID})
	}
	return errors.Join(x.git.moveRefs(ctx, c, "", moves), x.git.run(ctx, c, "update-ref", "--no-deref", "HEAD", x.Base))
}

// places finds the worktrees whose work is handed over.
func (x *giver) places(ctx context.Context) error {
	p, err := x.git.worktree(ctx, x.Dir)
	if err != nil {
		return err
	}
	x.branches = []*given{{branch{Name: "work"}, p}}
	for _, name := range slices.Sorted(maps.Keys(x.Others)) {
		b := &given{branch: branch{Name: "raymond/" + name}}
		if b.place, err = x.git.place(ctx, x.Others[name]); err != nil {
			return err
		}
		switch {
		case b.place == nil || b.common != p.common || !isBranch(b.Name):
			x.lacks[b.label(x.Others[name])] = "it is in no worktree of the repository"
		case !slices.ContainsFunc(x.branches, func(other *given) bool { return other.gitDir == b.gitDir }):
			x.branches = append(x.branches, b)
		}
	}
	return nil
}

// made is a commit that is made; parent is "" for none.
type made struct{ message, parent string }

// commitTree makes a commit, and returns its id.
func (t *tool) commitTree(ctx context.Context, c call, tree string, m made) (string, error) {
	args := []string{"commit-tree", tree, "-m", m.message}
	if m.parent != "" {
		args = append(args, "-p", m.parent)
	}
	out, err := t.output(ctx, c, args...)
	return strings.TrimSpace(string(out)), err
}

// commit makes a commit of github-actions[bot], with the date of all.
func (x *giver) commit(ctx context.Context, repository, tree string, m made) (string, error) {
	c := call{dir: repository, bare: repository}
	at := fmt.Sprintf("_DATE=@%d +0000", max(x.Date.Unix(), 0))
	for _, who := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		c.env = append(c.env, who+at, who+"_NAME=github-actions[bot]", who+"_EMAIL=41898282+github-actions[bot]@users.noreply.github.com")
	}
	return x.git.commitTree(ctx, c, tree, m)
}

// tip returns the commit with the work in a worktree: HEAD, or one on top that has what isn't committed.
func (x *giver) tip(ctx context.Context, b *given) (string, error) {
	wt, err := x.git.lookAt(ctx, b.place)
	changed, subErr := x.git.changedSubmodules(ctx, b.top)
	if err = errors.Join(err, subErr); err != nil {
		return "", err
	}
	for _, path := range changed {
		x.lacks[b.label(path)] = inSubmodule
	}
	staged, added, err := x.changes(ctx, b, wt.status)
	if err != nil || staged+added == "" {
		return cmp.Or(wt.Head, x.Base), err
	}
	c := call{dir: b.top, settings: []setting{{"core.sparseCheckout", "false"}}}
	c.env = []string{"GIT_INDEX_FILE=" + filepath.Join(x.git.temp, "index"), "GIT_OBJECT_DIRECTORY=" + filepath.Join(x.lent, "objects")}
	if err := x.git.run(ctx, c, "read-tree", cmp.Or(wt.Head, "--empty")); err != nil {
		return "", err
	}
	tree, err := x.tree(ctx, c, staged, added)
	if err != nil {
		return "", err
	}
	if wt.Head != "" {
		if had, err := x.git.id(ctx, c, wt.Head+"^{tree}"); err != nil || had == tree {
			return wt.Head, err
		}
	}
	return x.commit(ctx, x.lent, tree, made{"raymond: uncommitted work", wt.Head})
}

// tree changes entries of an index, adds files to it, and returns its tree.
func (x *giver) tree(ctx context.Context, c call, entries, paths string) (string, error) {
	c.in = strings.NewReader(entries)
	if err := x.git.run(ctx, c, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	if paths != "" {
		c.in = strings.NewReader(paths)
		if err := x.git.run(ctx, c, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
			return "", err
		}
	}
	c.in = nil
	tree, err := x.git.output(ctx, c, "write-tree")
	return strings.TrimSpace(string(tree)), err
}

// changes are what isn't committed, for git update-index: entries that are staged or gone, and paths of files.
func (x *giver) changes(ctx context.Context, b *given, status []entry) (staged, added string, err error) {
	root, err := os.OpenRoot(b.top)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	filters, err := x.git.filtered(ctx, b.top, pathsOf(status))
	if err != nil {
		return "", "", err
	}
	var gone, entries, names strings.Builder
	for _, e := range status {
		if why := x.leftOut(b, e); why != "" {
			x.lacks[b.label(e.path)] = why
			continue
		}
		info, err := root.Lstat(e.path)
		switch {
		case e.kind == '1' && (e.changed == 'D' || e.staged == 'D'), err != nil && e.changed != '.':
			gone.WriteString(removal(e.path))
			continue
		case e.kind == '1' && e.staged != '.':
			fmt.Fprintf(&entries, "%s %s\t%s\x00", e.index[0].mode, e.index[0].id, e.path)
		}
		if e.changed == '.' || e.mode == modeSub { // what the index has is all
			continue
		}
		if why := unlikeFiles(info, filters[e.path]); why != "" {
			x.lacks[b.label(e.path)] = why
			continue
		}
		names.WriteString(e.path + "\x00")
		x.size += info.Size()
	}
	if x.size > x.most {
		return "", "", fmt.Errorf("files of %s are not committed, and %s can be handed over; let another job take them", sizes(x.size), sizes(x.most))
	}
	return gone.String() + entries.String(), names.String(), nil
}

// unlikeFiles says why what stands in the worktree can't be added; "" where it can.
func unlikeFiles(info os.FileInfo, filter string) string {
	switch {
	case filter == "lfs":
		return keptByLFS
	case !info.Mode().IsRegular() && info.Mode()&os.ModeSymlink == 0:
		return "it is a repository of its own, or no file"
	}
	return ""
}

// What is named more than once.
const (
	keptByLFS   = "git LFS keeps its content"
	inSubmodule = "the work in the submodule"
	ofForge     = "what forges run is handed over with workflows=true alone"
)

// removal is, for git update-index, an entry that goes.
func removal(path string) string { return fmt.Sprintf("0 %s\t%s\x00", nullID, path) }

// leftOut says why something that isn't committed stays away as a whole; "" where it doesn't.
func (x *giver) leftOut(b *given, e entry) string {
	isNew := e.kind == '?' || e.staged == 'A' || e.changed == 'A'
	switch {
	case !x.Workflows && isOfForge(e.path):
		return ofForge
	case isNew && x.isKnown(filepath.Join(resolved(b.top), filepath.FromSlash(e.path))):
		return "it was there before the first agent, and in no commit"
	case e.kind == '?' && strings.HasSuffix(e.path, "/") && slices.ContainsFunc(x.branches, func(o *given) bool { return sameDir(o.top, filepath.Join(b.top, e.path)) }):
		return "a worktree, which is a branch of its own"
	}
	return ""
}

// ofForges are the folders and files of a repository's top folder that forges run, in any letter case.
var ofForges = []string{".github", ".gitea", ".forgejo", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".circleci"}

// isOfForge reports whether a forge may run what is at a path.
func isOfForge(path string) bool {
	top, _, _ := strings.Cut(strings.ToLower(path), "/")
	return slices.Contains(ofForges, top)
}

// isKnown reports whether a file, or a folder that it is in, was there before.
func (x *giver) isKnown(path string) bool {
	for ; !x.known[path]; path = filepath.Dir(path) {
		if filepath.Dir(path) == path {
			return false
		}
	}
	return true
}

// clean names what a branch lacks, and puts back what forges run: by one commit in the place of all where commits have changed that,
// since a forge refuses each of them.
func (x *giver) clean(ctx context.Context, c call, b *given) error {
	all, err := x.git.differences(ctx, c, b.ID, x.Base)
	if err != nil {
		return err
	}
	var paths []string
	var gone, back strings.Builder
	for _, d := range all {
		switch {
		case !x.Workflows && isOfForge(d.path):
			x.lacks[b.label(d.path)] = ofForge
			if d.to.mode == "" {
				gone.WriteString(removal(d.path))
			} else {
				fmt.Fprintf(&back, "%s %s\t%s\x00", d.to.mode, d.to.id, d.path)
			}
		case d.from.mode == modeSub:
			x.lacks[b.label(d.path)] = inSubmodule
		case d.from.mode != "":
			paths = append(paths, d.path)
		}
	}
	filters, err := x.git.filtered(ctx, b.top, paths)
	if err != nil {
		return err
	}
	for path, filter := range filters {
		if filter == "lfs" {
			x.lacks[b.label(path)] = keptByLFS
		}
	}
	return x.putBack(ctx, c, b, gone.String()+back.String())
}

// difference is a path in which two trees differ.
type difference struct {
	from, to item
	path     string
}

// differences compares two trees, or those of commits.
func (t *tool) differences(ctx context.Context, c call, from, to string) ([]difference, error) {
	out, err := t.output(ctx, c, "diff-tree", "-r", "-z", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	var all []difference
	for d := range slices.Chunk(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), 2) {
		f := strings.Fields(strings.TrimPrefix(d[0], ":"))
		switch {
		case len(out) == 0:
		case len(f) != 5 || len(d) != 2:
			return nil, fmt.Errorf("git diff-tree: %.80q is unknown", d[0])
		default:
			all = append(all, difference{itemOf(f[0], f[2]), itemOf(f[1], f[3]), d[1]})
		}
	}
	return all, nil
}

// putBack restores what forges run to its state in the checkout; entries are the changes that do so.
func (x *giver) putBack(ctx context.Context, c call, b *given, entries string) error {
	if x.Workflows {
		return nil
	}
	c.in, c.env = strings.NewReader(b.ID+"\n"+without(x.ends)), []string{"GIT_LITERAL_PATHSPECS=0", "GIT_ICASE_PATHSPECS=1"}
	touched, err := x.git.output(ctx, c, append([]string{"rev-list", "--max-count=1", "--full-history", "--stdin", "--"}, ofForges...)...)
	if err != nil || entries == "" && len(touched) == 0 {
		return err
	}
	x.lacks[b.label("its commits")] = "combined into one commit, because some of them change what forges run"
	c.in, c.env = nil, []string{"GIT_INDEX_FILE=" + filepath.Join(x.git.temp, "index")}
	if err := x.git.run(ctx, c, "read-tree", b.ID); err != nil {
		return err
	}
	tree, err := x.tree(ctx, c, entries, "")
	if err != nil {
		return err
	}
	b.ID, err = x.commit(ctx, c.bare, tree, made{"raymond: work without what forges run", x.Base})
	return err
}

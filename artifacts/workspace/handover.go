package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	shown "github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// HandOverRequest describes the work to hand over. The process that gets it must not read files of agents.
type HandOverRequest struct {
	Dir             string            // absolute working directory of the agent
	Others          map[string]string // working directories of other agents, by agent name; each other worktree of the repository becomes a branch
	Base            string            // commit of the checkout; HandOver fails if it is empty or missing from the agent's repository
	Date            time.Time         // date of the new commits; the same work and date give the same hashes
	Workflows       bool              // also hand over changes to files that forges run (.github and similar)
	UntrackedBefore []string          // result of Untracked, called before the first agent started
	To              string            // an existing, empty directory that agents can't access
}

// HandOverResult contains the paths of the handed-over work.
type HandOverResult struct {
	Repository  string // path of a bare repository
	MissingList string // path of a file that lists omitted work, one item per line
}

// handLimit limits the packed work, and separately the sum of all uncommitted files, in bytes.
const handLimit = 1 << 30

// HandOver creates a bare repository with the work. Its objects' hashes are checked, and it has no hooks, remotes or
// alternates. HEAD is detached at the commit of the checkout. Older history is cut off, as in a shallow clone. Branch work
// contains the agent's HEAD plus a commit with the uncommitted changes. Branch raymond/NAME contains the same for the agent
// NAME. Uncommitted files are added as git add would add them, but without filters.
//
// The repository leaves out files stored in git LFS, work in submodules, untracked files that existed before the first agent,
// and, unless h.Workflows is set, changes to files that forges run. If commits of a branch changed files that forges run, a
// single commit on top of the checkout replaces all commits of the branch. If the work exceeds a limit, HandOver fails.
func (g *Git) HandOver(ctx context.Context, h HandOverRequest) (HandOverResult, error) {
	t, err := g.open()
	if err != nil {
		return HandOverResult{}, err
	}
	defer t.close()
	x := &handOver{HandOverRequest: h, git: t, most: cmp.Or(g.handed, handLimit), missing: map[string]string{}, existing: map[string]bool{}}
	for _, path := range h.UntrackedBefore {
		x.existing[path] = true
	}
	over := HandOverResult{filepath.Join(h.To, "work.git"), filepath.Join(h.To, "lacks")}
	if err := x.findBranches(ctx); err != nil {
		return HandOverResult{}, err
	}
	p := x.branches[0].location
	if x.borrower, err = t.initBorrower(ctx, filepath.Join(t.temp, "lent"), p.common); err != nil {
		return HandOverResult{}, err
	}
	missing, err := t.missing(ctx, call{dir: x.borrower, bare: x.borrower}, []string{cmp.Or(x.Base, "none")})
	if err != nil || len(missing) > 0 {
		return HandOverResult{}, cmp.Or(err, fmt.Errorf("%s: the repository does not have the commit of the checkout (%q)", p.top, x.Base))
	}
	for _, b := range x.branches {
		if b.ID, err = x.workCommit(ctx, b); err != nil {
			return HandOverResult{}, fmt.Errorf("%s: %w", b.top, err)
		}
	}
	if err := x.findEnds(ctx); err != nil {
		return HandOverResult{}, err
	}
	// The new repository gets all objects that the branches reach.
	tips := lines(x.ends...)
	for _, b := range x.branches {
		tips += b.ID + "\n"
	}
	c := call{dir: over.Repository, bare: over.Repository}
	if err := t.copyObjects(ctx, x.borrower, c.dir, tips, x.ends, x.most); err != nil {
		return HandOverResult{}, fmt.Errorf("copy the checkout and the agents' work: %w", err)
	}
	if err := t.checkComplete(ctx, c, tips); err != nil {
		return HandOverResult{}, err
	}
	var moves []refUpdate
	for _, b := range x.branches {
		if err := x.dropForgeChanges(ctx, c, b); err != nil {
			return HandOverResult{}, err
		}
		moves = append(moves, refUpdate{"refs/heads/" + b.Name, "", b.ID})
	}
	err = errors.Join(t.updateRefs(ctx, c, "", moves), t.run(ctx, c, "update-ref", "--no-deref", "HEAD", x.Base))
	if err != nil {
		return HandOverResult{}, err
	}
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(x.missing)) {
		lines.WriteString(shown.Inert(shown.Escape(what+": "+x.missing[what])) + "\n")
	}
	return over, files.WriteNew(over.MissingList, []byte(lines.String()), 0o600)
}

// handOver builds the repository to hand over.
type handOver struct {
	HandOverRequest
	git      *tool
	borrower string // a new repository for the new commits, which borrows all other objects
	branches []*handOverBranch
	ends     []string // commits at which the history is cut off
	most     int64
	size     int64             // total size of the uncommitted files so far
	missing  map[string]string // reasons why work is left out, by the work's label
	existing map[string]bool
}

// handOverBranch is a branch of the new repository and the worktree that its work comes from.
type handOverBranch struct {
	branch
	*location
}

// label returns the name of a path in the list of omitted work. It begins with the branch, unless that is work.
func (b *handOverBranch) label(path string) string {
	return strings.TrimPrefix(b.Name+":", "work:") + path
}

// findBranches finds the worktrees whose work is handed over, and records agents whose work can't be.
func (x *handOver) findBranches(ctx context.Context) error {
	p, err := x.git.worktree(ctx, x.Dir)
	if err != nil {
		return err
	}
	x.branches = []*handOverBranch{{branch{Name: "work"}, p}}
	for _, name := range slices.Sorted(maps.Keys(x.Others)) {
		b := &handOverBranch{branch: branch{Name: "raymond/" + name}}
		if b.location, err = x.git.location(ctx, x.Others[name]); err != nil {
			return err
		}
		switch {
		case b.location == nil || b.common != p.common || !isBranch(b.Name):
			x.missing[b.label(x.Others[name])] = "it is in no worktree of the repository"
		case !slices.ContainsFunc(x.branches, func(other *handOverBranch) bool { return other.gitDir == b.gitDir }):
			x.branches = append(x.branches, b)
		}
	}
	return nil
}

// commitTree creates a commit and returns its id. If parent is empty, the commit has no parent.
func (t *tool) commitTree(ctx context.Context, c call, tree, message, parent string) (string, error) {
	args := []string{"commit-tree", tree, "-m", message}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	out, err := t.output(ctx, c, args...)
	return strings.TrimSpace(string(out)), err
}

// commit creates a commit by github-actions[bot] with the date of the request.
func (x *handOver) commit(ctx context.Context, repository, tree, message, parent string) (string, error) {
	c := call{dir: repository, bare: repository}
	at := fmt.Sprintf("_DATE=@%d +0000", max(x.Date.Unix(), 0))
	for _, who := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		c.env = append(c.env, who+at, who+"_NAME=github-actions[bot]", who+"_EMAIL=41898282+github-actions[bot]@users.noreply.github.com")
	}
	return x.git.commitTree(ctx, c, tree, message, parent)
}

// workCommit returns a commit with the work of a worktree: HEAD or, if there are uncommitted changes, a new commit on HEAD.
func (x *handOver) workCommit(ctx context.Context, b *handOverBranch) (string, error) {
	wt, err := x.git.readStatus(ctx, b.location)
	changed, subErr := x.git.changedSubmodules(ctx, b.top)
	if err = errors.Join(err, subErr); err != nil {
		return "", err
	}
	for _, path := range changed {
		x.missing[b.label(path)] = inSubmodule
	}
	staged, added, err := x.uncommitted(ctx, b, wt.status)
	if err != nil || staged+added == "" {
		return cmp.Or(wt.Head, x.Base), err
	}
	c := call{dir: b.top, settings: []setting{{"core.sparseCheckout", "false"}}}
	c.env = []string{"GIT_INDEX_FILE=" + filepath.Join(x.git.temp, "index"), "GIT_OBJECT_DIRECTORY=" + filepath.Join(x.borrower, "objects")}
	if err := x.git.run(ctx, c, "read-tree", cmp.Or(wt.Head, "--empty")); err != nil {
		return "", err
	}
	tree, err := x.writeTree(ctx, c, staged, added)
	if err != nil {
		return "", err
	}
	if wt.Head != "" {
		if had, err := x.git.id(ctx, c, wt.Head+"^{tree}"); err != nil || had == tree {
			return wt.Head, err
		}
	}
	return x.commit(ctx, x.borrower, tree, "raymond: uncommitted work", wt.Head)
}

// writeTree sets or removes entries of an index, adds the files at paths, and returns the id of the index's tree.
func (x *handOver) writeTree(ctx context.Context, c call, entries, paths string) (string, error) {
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

// uncommitted returns the uncommitted changes as input for git update-index: entries to set or remove, and paths of files to
// add. It records the changes that are left out.
func (x *handOver) uncommitted(ctx context.Context, b *handOverBranch, status []entry) (staged, added string, err error) {
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
			x.missing[b.label(e.path)] = why
			continue
		}
		info, err := root.Lstat(e.path)
		switch {
		case e.kind == '1' && (e.changed == 'D' || e.staged == 'D'), err != nil && e.changed != '.':
			gone.WriteString(removalEntry(e.path))
			continue
		case e.kind == '1' && e.staged != '.':
			fmt.Fprintf(&entries, "%s %s\t%s\x00", e.index[0].mode, e.index[0].id, e.path)
		}
		if e.changed == '.' || e.mode == modeSub { // the index contains the whole change
			continue
		}
		switch {
		case filters[e.path] == "lfs":
			x.missing[b.label(e.path)] = inLFS
		case !info.Mode().IsRegular() && info.Mode()&os.ModeSymlink == 0:
			x.missing[b.label(e.path)] = "it is a separate repository or not a regular file"
		default:
			names.WriteString(e.path + "\x00")
			x.size += info.Size()
		}
	}
	if x.size > x.most {
		return "", "", fmt.Errorf("the uncommitted files have %s, but at most %s can be handed over; use another job", formatBytes(x.size), formatBytes(x.most))
	}
	return gone.String() + entries.String(), names.String(), nil
}

// Reasons in x.missing that are used more than once.
const (
	inLFS       = "git LFS keeps its content"
	inSubmodule = "the work in the submodule"
	forgeFiles  = "files that forges run are handed over only with workflows=true"
)

// removalEntry returns the entry that makes git update-index remove a path.
func removalEntry(path string) string { return fmt.Sprintf("0 %s\t%s\x00", nullID, path) }

// leftOut returns the reason why an uncommitted change is left out, or "" if it is handed over.
func (x *handOver) leftOut(b *handOverBranch, e entry) string {
	isNew := e.kind == '?' || e.staged == 'A' || e.changed == 'A'
	switch {
	case !x.Workflows && isForgePath(e.path):
		return forgeFiles
	case isNew && x.existedBefore(filepath.Join(resolved(b.top), filepath.FromSlash(e.path))):
		return "it existed before the first agent and was not committed"
	case e.kind == '?' && strings.HasSuffix(e.path, "/") && slices.ContainsFunc(x.branches, func(o *handOverBranch) bool { return sameDir(o.top, filepath.Join(b.top, e.path)) }):
		return "a worktree, which is handed over as a branch"
	}
	return ""
}

// forgePaths are the top-level directories and files that forges run, in lower case.
var forgePaths = []string{".github", ".gitea", ".forgejo", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".circleci"}

// isForgePath reports whether a forge may run the file at a path.
func isForgePath(path string) bool {
	top, _, _ := strings.Cut(strings.ToLower(path), "/")
	return slices.Contains(forgePaths, top)
}

// existedBefore reports whether a file, or a directory above it, existed before the first agent started.
func (x *handOver) existedBefore(path string) bool {
	for ; !x.existing[path]; path = filepath.Dir(path) {
		if filepath.Dir(path) == path {
			return false
		}
	}
	return true
}

// dropForgeChanges records a branch's omissions, and restores files that forges run to the checkout's version. If the branch
// changed such files, a single commit replaces all its commits, because a forge would reject commits that change them.
func (x *handOver) dropForgeChanges(ctx context.Context, c call, b *handOverBranch) error {
	all, err := x.git.differences(ctx, c, b.ID, x.Base)
	if err != nil {
		return err
	}
	var paths []string
	var gone, back strings.Builder
	for _, d := range all {
		switch {
		case !x.Workflows && isForgePath(d.path):
			x.missing[b.label(d.path)] = forgeFiles
			if d.to.mode == "" {
				gone.WriteString(removalEntry(d.path))
			} else {
				fmt.Fprintf(&back, "%s %s\t%s\x00", d.to.mode, d.to.id, d.path)
			}
		case d.from.mode == modeSub:
			x.missing[b.label(d.path)] = inSubmodule
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
			x.missing[b.label(path)] = inLFS
		}
	}
	if x.Workflows {
		return nil
	}
	c.in, c.env = strings.NewReader(b.ID+"\n"+excluding(x.ends)), []string{"GIT_LITERAL_PATHSPECS=0", "GIT_ICASE_PATHSPECS=1"}
	touched, err := x.git.output(ctx, c, append([]string{"rev-list", "--max-count=1", "--full-history", "--stdin", "--"}, forgePaths...)...)
	entries := gone.String() + back.String()
	if err != nil || entries == "" && len(touched) == 0 {
		return err
	}
	x.missing[b.label("its commits")] = "combined into one commit, because some of them change what forges run"
	c.in, c.env = nil, []string{"GIT_INDEX_FILE=" + filepath.Join(x.git.temp, "index")}
	if err := x.git.run(ctx, c, "read-tree", b.ID); err != nil {
		return err
	}
	tree, err := x.writeTree(ctx, c, entries, "")
	if err != nil {
		return err
	}
	b.ID, err = x.commit(ctx, c.bare, tree, "raymond: work without what forges run", x.Base)
	return err
}

// difference is a path that differs between two trees.
type difference struct {
	from, to item
	path     string
}

// differences compares two trees or commits.
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
			return nil, fmt.Errorf("git diff-tree: unknown line %.80q", d[0])
		default:
			all = append(all, difference{itemOf(f[0], f[2]), itemOf(f[1], f[3]), d[1]})
		}
	}
	return all, nil
}

// findEnds finds the commits at which the history is cut off: the checkout's commit, and commits of the
// work that are older than it or unrelated to it. It marks them as shallow in the borrower.
func (x *handOver) findEnds(ctx context.Context) error {
	in := "^" + x.Base + "\n"
	for _, b := range x.branches {
		in += b.ID + "\n"
	}
	c := call{dir: x.borrower, bare: x.borrower, in: strings.NewReader(in)}
	out, err := x.git.output(ctx, c, "rev-list", "--boundary", "--stdin")
	if err != nil {
		return err
	}
	cut, err := readShallow(x.borrower)
	if err != nil {
		return err
	}
	isCut, isNew, ends := map[string]bool{}, map[string]bool{}, []string{x.Base}
	for _, id := range cut {
		isCut[id] = true
	}
	for line := range strings.Lines(string(out)) {
		id, isEnd := strings.CutPrefix(strings.TrimSpace(line), "-")
		if isNew[id] = !isEnd; isEnd || isCut[id] {
			ends = append(ends, id)
		}
	}
	for _, b := range x.branches {
		if !isNew[b.ID] {
			ends = append(ends, b.ID)
		}
	}
	slices.Sort(ends)
	x.ends = slices.Compact(ends)
	return writeShallow(x.borrower, x.ends)
}

// copyObjects creates the repository to with objects of the repository from, which agents may have written. names are
// commits whose history is copied, one per line, and ends are the commits at which it is cut off. If ends is nil,
// names are the objects to copy. most is the maximum size of the pack in bytes.
//
// git index-pack computes each object's id from its content. So an object that was stored under another object's id
// doesn't replace that object. The inflated size of the pack is checked before git unpacks it.
func (t *tool) copyObjects(ctx context.Context, from, to, names string, ends []string, most int64) error {
	f, _, err := files.OpenFile(filepath.Join(t.temp, "copied.pack"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	args, check := []string{"pack-objects", "--quiet", "--stdout", "--delta-base-offset"}, []string(nil)
	if ends != nil {
		args, check = append(args, "--revs"), []string{fsck}
	}
	out := &limitedWriter{w: f, left: most}
	err = t.run(ctx, call{dir: from, bare: from, in: strings.NewReader(names), out: out}, args...)
	if out.full {
		return fmt.Errorf("they have more than %s; use another job", formatBytes(most))
	}
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := inflatedSize(f, most, most*inflatedFactor); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := t.initBorrower(ctx, to, ""); err != nil {
		return err
	}
	if ends != nil {
		if err := writeShallow(to, ends); err != nil {
			return err
		}
	}
	return t.indexPack(ctx, to, f, check...)
}

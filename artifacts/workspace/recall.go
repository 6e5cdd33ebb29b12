package workspace

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Past is a part of a repository as it was at a commit, and what makes the commit
// trusted: its name came from elsewhere, and a server hands out by its name even what
// somebody pushed to a fork.
type Past struct {
	Dir    string // a directory of the checkout
	Commit string // the full name of the commit
	Name   string // of a file or folder in the repository; "." for all of it
	// Trusted are commits that are trusted, with all that they were made on, and
	// Refs are those of the repository that are ("refs/heads/main").
	Trusted, Refs []string
	// IsOwn reports whether a commit that is on none of them is trusted; nil: it is
	// not.
	IsOwn func(ctx context.Context, commit string) bool
	// Repository is the "owner/name" of the repository on the server at ServerURL, to
	// which alone Token is shown. Where the checkout is of another server, its origin
	// is asked.
	Repository, ServerURL, Token string
	Temp                         string // an existing folder for what is needed meanwhile
}

// NotOurs says that a commit is not in the history that is trusted.
type NotOurs struct{ Commit string }

func (e *NotOurs) Error() string {
	return "commit " + e.Commit + " is not in the history of this workflow's own branch"
}

// Recall writes a part of a past commit below to, as Extract does. What the checkout
// has is taken from there if it is complete, all else from the server; either is
// checked object by object. It fails with *NotOurs for a commit that exists and
// isn't trusted.
func (g *Git) Recall(ctx context.Context, p Past, to string) error {
	if !isFullName(p.Commit) {
		return errors.New("the commit is not named in full")
	}
	t, err := g.open("https:http:ssh:git:file")
	if err != nil {
		return err
	}
	defer t.close()
	// Git must not look for what a filter left out: it would ask again and again.
	t.env = append(t.env, "GIT_NO_LAZY_FETCH=1")
	ctx, cancel := context.WithTimeoutCause(ctx, recallWithin, fmt.Errorf("git took more than %v", recallWithin))
	defer cancel()
	temp, err := os.MkdirTemp(p.Temp, "raymond-past-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	r := &recaller{git: t, Past: p, temp: temp}
	sources, err := r.sources(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range sources {
		err := r.from(ctx, s, to)
		if err == nil || ctx.Err() != nil {
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
	}
	var foreign *NotOurs
	if errors.As(errors.Join(errs...), &foreign) {
		return foreign
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("%w; %w", errs[0], errs[1])
}

// recallWithin is how long it may take to get a past commit.
const recallWithin = 5 * time.Minute

// recaller finds one past commit.
type recaller struct {
	git *tool
	Past
	temp string
	made int // repositories so far
}

// supplier is where commits are fetched from.
type supplier struct {
	name     string // for people
	url      string
	settings []setting
	options  []string
	isServer bool
}

// local is how a repository of ours is asked that borrows the objects of the checkout:
// it may be asked for any commit.
const local = "git -c uploadpack.allowFilter=true -c uploadpack.allowAnySHA1InWant=true upload-pack"

// sources are the checkout, unless it has only a part of the history, and the
// repository on the server.
func (r *recaller) sources(ctx context.Context) ([]supplier, error) {
	p, err := r.git.place(ctx, r.Dir)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("%q is in no git worktree", r.Dir)
	}
	origin := p.home.origin.url
	if origin == "" || isBelow(origin, r.ServerURL) || isSecureShell(origin, r.ServerURL) {
		origin = strings.TrimSuffix(r.ServerURL, "/") + "/" + r.Repository
	}
	all := []supplier{{name: "the server", url: origin, settings: tokenFor(origin, r.ServerURL, r.Token), isServer: true}}
	shallow, err := readShallow(p.common)
	if err == nil && len(shallow) == 0 {
		r.made++
		bare, err := r.git.shadow(ctx, filepath.Join(r.temp, fmt.Sprint(r.made)), p.home.format, p.common)
		if err != nil {
			return nil, err
		}
		here := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(bare), "/")}
		all = slices.Insert(all, 0, supplier{name: "the checkout", url: here.String(), options: []string{"--upload-pack=" + local}})
	}
	return all, nil
}

// isSecureShell reports whether an address is one of a server's by SSH, for which a
// job has no key: git@github.com:owner/name.
func isSecureShell(address, server string) bool {
	u, err := url.Parse(server)
	return err == nil && u.Host != "" && (strings.HasPrefix(address, "git@"+u.Hostname()+":") || strings.HasPrefix(address, "ssh://git@"+u.Hostname()))
}

// tokenFor are the settings that show a token to a server, when an address is one of
// its own.
func tokenFor(address, server, token string) []setting {
	if token == "" || !isBelow(address, server) {
		return nil
	}
	key := "http." + strings.TrimSuffix(server, "/") + "/.extraheader"
	secret := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	return []setting{{key, ""}, {key, "AUTHORIZATION: basic " + secret}}
}

// from does it with one source.
func (r *recaller) from(ctx context.Context, s supplier, to string) error {
	history, err := r.repository(ctx)
	if err != nil {
		return err
	}
	// Commits without files: those are many.
	if err := r.fetch(ctx, s, history, "--filter=tree:0", r.Commit); err != nil {
		return err
	}
	tips := slices.Clone(r.Trusted)
	for _, id := range r.Trusted {
		_ = r.fetch(ctx, s, history, "--filter=tree:0", id) // what can't be had proves nothing
	}
	for i, ref := range r.Refs {
		tip := fmt.Sprintf("refs/tips/%d", i)
		if s.isServer && r.fetch(ctx, s, history, "--filter=tree:0", ref+":"+tip) == nil {
			tips = append(tips, tip)
		}
	}
	trusted, err := r.isTrusted(ctx, history, tips)
	if err != nil {
		return err
	}
	if !trusted {
		return &NotOurs{r.Commit}
	}
	return r.extract(ctx, s, to)
}

// repository makes an empty one, of our own.
func (r *recaller) repository(ctx context.Context) (string, error) {
	r.made++
	dir := filepath.Join(r.temp, fmt.Sprint(r.made))
	format := "sha1"
	if isID(r.Commit, "sha256") {
		format = "sha256"
	}
	return r.git.shadow(ctx, dir, format, "")
}

func (r *recaller) fetch(ctx context.Context, s supplier, into string, args ...string) error {
	all := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules"}
	options := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !strings.HasPrefix(a, "--") })
	wants := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "--") })
	settings := append([]setting{{"fetch.fsckObjects", "false"}, {"http.followRedirects", "false"}}, s.settings...)
	return r.git.run(ctx, call{dir: into, bare: into, settings: settings}, slices.Concat(all, s.options, options, []string{"--", s.url}, wants)...)
}

// isTrusted reports whether the commit is in the history of a tip, or merges
// commits that are.
func (r *recaller) isTrusted(ctx context.Context, history string, tips []string) (bool, error) {
	if ok, err := r.isOurs(ctx, history, r.Commit, tips); ok || err != nil {
		return ok, err
	}
	out, err := r.git.output(ctx, call{dir: history, bare: history}, "rev-list", "--parents", "--no-walk", r.Commit)
	if err != nil {
		return false, err
	}
	names := strings.Fields(string(out))
	if len(names) < 3 { // itself and two parents
		return false, nil
	}
	for _, parent := range names[1:] {
		if ok, err := r.isOurs(ctx, history, parent, tips); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *recaller) isOurs(ctx context.Context, history, commit string, tips []string) (bool, error) {
	for _, tip := range tips {
		err := r.git.run(ctx, call{dir: history, bare: history}, "merge-base", "--is-ancestor", commit, tip)
		if err == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, err
		}
	}
	return r.IsOwn != nil && r.IsOwn(ctx, commit), nil
}

// extract fetches the files, and of the commit only what is needed for them.
func (r *recaller) extract(ctx context.Context, s supplier, to string) error {
	files, err := r.repository(ctx)
	if err != nil {
		return err
	}
	if err := r.fetch(ctx, s, files, "--depth=1", "--filter=blob:none", r.Commit); err != nil {
		return err
	}
	part := part{git: r.git, bare: files, commit: r.Commit, name: r.Name}
	entries, err := part.entries(ctx)
	if err != nil {
		return err
	}
	args := []string{"--filter=blob:none"}
	for _, e := range entries {
		if !slices.Contains(args, e.id) {
			args = append(args, e.id)
		}
	}
	// A server that knows no filters has sent them already, and does so again.
	if err := r.fetch(ctx, s, files, args...); err != nil {
		return err
	}
	return part.writeOut(ctx, entries, to)
}

// Place is where a file or folder of a worktree is in its repository.
type Place struct {
	Commit string // that is checked out
	Path   string // in the repository; "." for its top
}

// Locate finds out where a file or folder is in its repository; the zero Place where
// it is in none, or nothing is committed.
func (g *Git) Locate(ctx context.Context, path string) Place {
	t, err := g.open("none")
	if err != nil {
		return Place{}
	}
	defer t.close()
	dir, name := path, ""
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		dir, name = filepath.Split(path)
	}
	out, err := t.output(ctx, call{dir: dir}, "rev-parse", "--show-prefix", "HEAD^{commit}")
	prefix, commit, ok := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || !ok || !isFullName(commit) {
		return Place{}
	}
	return Place{Commit: commit, Path: filepath.ToSlash(filepath.Clean(filepath.Join(filepath.FromSlash(prefix), name)))}
}

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

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// fetchNeeded fetches the commits that a bundle needs, if the repository lacks them, from origin. In a
// partial clone it also fetches their files. If a commit is not available, the error is a *Conflict.
func (w *restorer) fetchNeeded(ctx context.Context, p *plan) error {
	c := call{dir: p.common, bare: p.common}
	missing, err := w.git.missing(ctx, c, p.saved.Needs)
	if err != nil {
		return err
	}
	var why error
	if len(missing) > 0 {
		why = w.git.fetch(ctx, p.common, p.common, missing, true)
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if missing, err = w.git.missing(ctx, c, p.saved.Needs); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return w.git.fetchMissing(ctx, c, p.common, lines(p.saved.Needs...), "--no-walk")
	}
	what := "commit " + missing[0] + ", which the saved work builds on, is neither in the repository nor available from origin"
	if why != nil {
		what += " (" + why.Error() + ")"
	}
	return &Conflict{Dir: p.dir, What: what}
}

// ErrNoObjects means that origin did not provide objects that a partial clone lacks.
var ErrNoObjects = errors.New("the partial clone lacks objects that origin does not provide")

// fetchMissing fetches the objects that commits reach and that the repository of c lacks. It does nothing unless
// the repository at common is a partial clone. commits are in the input format of git rev-list, and options are
// further options of git rev-list. If origin doesn't provide an object, the error wraps ErrNoObjects.
func (t *tool) fetchMissing(ctx context.Context, c call, common, commits string, options ...string) error {
	if h := t.views[common]; h == nil || !h.isPartial || commits == "" {
		return nil
	}
	list := c
	list.in = strings.NewReader(commits)
	out, err := t.output(ctx, list, append([]string{"rev-list", "--objects", "--missing=print", "--stdin"}, options...)...)
	if err != nil {
		return err
	}
	var missing []string
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "?"); ok {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := t.fetch(ctx, common, c.bare, missing, false); err != nil {
		return fmt.Errorf("%w (%s is one of %d): %w", ErrNoObjects, missing[0], len(missing), err)
	}
	return nil
}

// fetch fetches objects from the origin of the repository at common into the repository at to. Git fetches
// into a new, empty repository, so the process that has the network and the token sees no files of agents.
// areCommits means that the ids are commits. Then a shallow repository stays shallow, a full one stays
// full, and a partial one stays partial.
func (t *tool) fetch(ctx context.Context, common, to string, ids []string, areCommits bool) error {
	h, err := t.view(ctx, common)
	if err != nil {
		return err
	}
	if h.origin == "" {
		return errors.New("the repository has no origin")
	}
	shallow, err := readShallow(common)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(t.temp, "fetched-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	own, err := t.initBorrower(ctx, filepath.Join(dir, "git"), "")
	if err != nil {
		return err
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc", "--stdin"}
	if areCommits && len(shallow) > 0 {
		args = append(args, "--depth=1")
	}
	if areCommits && h.filter != "" {
		args = append(args, "--filter="+h.filter)
	}
	// Jobs have no SSH key, so SSH URLs are converted to HTTPS. Redirects are not followed, because they could send the
	// token to another server.
	server, address := t.opts.ServerURL, overHTTP(h.origin, t.opts.ServerURL)
	c := call{dir: own, bare: own, remote: address, in: strings.NewReader(lines(ids...))}
	c.settings = []setting{{"remote.origin.url", address}, {"http.followRedirects", "false"}, {"fetch.unpackLimit", "1"}} // 1: store a pack
	if t.opts.Token != "" && isBelow(address, server) {
		secret := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + t.opts.Token))
		c.settings = append(c.settings, setting{"http." + strings.TrimSuffix(server, "/") + "/.extraheader", "AUTHORIZATION: basic " + secret})
	}
	if err := t.run(ctx, c, append(args, "origin")...); err != nil {
		return err
	}
	// The packs and the shallow commits are added to the repository at to. Git checks the hash of each object.
	ends, err := readShallow(own)
	if err != nil {
		return err
	}
	if err := t.markShallow(ctx, ends, to); err != nil {
		return err
	}
	packs, err := filepath.Glob(filepath.Join(own, "objects", "pack", "*.pack"))
	if err != nil {
		return err
	}
	for _, path := range packs {
		f, _, err := files.Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(t.indexPack(ctx, to, f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// overHTTP returns the HTTP URL for an SSH address on the server (git@github.com:owner/name). Other
// addresses stay unchanged.
func overHTTP(address, server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return address
	}
	for _, prefix := range []string{"git@" + u.Hostname() + ":", "ssh://git@" + u.Hostname() + "/"} {
		if path, ok := strings.CutPrefix(address, prefix); ok {
			return strings.TrimSuffix(server, "/") + "/" + path
		}
	}
	return address
}

// isBelow reports whether an address is a URL below the URL of a server.
func isBelow(address, server string) bool {
	a, errA := url.Parse(address)
	s, errS := url.Parse(server)
	if errA != nil || errS != nil || s.Host == "" || (s.Scheme != "https" && s.Scheme != "http") {
		return false
	}
	return a.Scheme == s.Scheme && a.Host == s.Host &&
		strings.HasPrefix(a.Path, strings.TrimSuffix(s.Path, "/")+"/")
}

// verify checks that the repository contains the saved work. Each branch and each HEAD in the index must be
// the commit with all work or a parent of that commit. No object that this commit or an extra reaches may be
// missing, unless a commit that the bundle needs reaches it too.
func (w *restorer) verify(ctx context.Context, p *plan) error {
	c := call{dir: p.common, bare: p.common}
	ids := []string{p.saved.Save}
	for _, b := range p.saved.Branches {
		ids = append(ids, b.ID)
	}
	for _, t := range p.saved.Trees {
		if t.Head != "" {
			ids = append(ids, t.Head)
		}
	}
	out, err := w.git.output(ctx, c, "rev-list", "--parents", "--no-walk", p.saved.Save)
	if err != nil {
		return err
	}
	parents := strings.Fields(string(out))
	for _, id := range ids {
		if !slices.Contains(parents, id) {
			return fmt.Errorf("commit %s was not saved", id)
		}
	}
	reach := lines(p.saved.Save)
	for _, x := range p.saved.Extras {
		reach += lines(x.ID)
	}
	return w.git.checkComplete(ctx, c, reach+excluding(p.saved.Needs))
}

// checkComplete returns an error if a repository lacks any object that commits reach. commits are in the
// input format of git rev-list.
func (t *tool) checkComplete(ctx context.Context, c call, commits string) error {
	c.in = strings.NewReader(commits)
	return t.run(ctx, c, "rev-list", "--objects", "--quiet", "--stdin")
}

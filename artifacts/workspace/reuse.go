package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// unreliable is how long the times of a changed file are unreliable. Another change within this duration may
// leave them unchanged, because the coarsest clock of a file system has a resolution of two seconds.
const unreliable = 2 * time.Second

// unreliableFor returns the constant unreliable or, in tests, its replacement.
func (g *Git) unreliableFor() time.Duration {
	return cmp.Or(g.unreliable, unreliable)
}

// fingerprint returns a hash of everything that the save of a repository depends on: refs, status, and the
// times and sizes of changed files. If a file changed so recently that another change could go unnoticed,
// it returns "".
func (w *saver) fingerprint(s *source, at *refs) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %q %q %v %q %q\n", schema, s.top, w.Base, s.main, at.raw, s.notes)
	since := time.Now().Add(-w.unreliable)
	for _, wt := range s.trees {
		fmt.Fprintf(h, "%q %q %q\n", wt.Dir, wt.Operation, wt.raw)
		for path, info := range wt.changed() {
			if info == nil {
				fmt.Fprintf(h, "%q gone\n", path)
				continue
			}
			is := stampOf(info)
			if is.isAfter(since) {
				return ""
			}
			fmt.Fprintf(h, "%q %v\n", path, is)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// reuse links the bundle of a repository from the last save into this save and returns its entry for the
// index. It returns nil if the repository has changed since then, or if the bundle can't be reused.
func (w *saver) reuse(s *source, seen string) *repository {
	i := slices.IndexFunc(w.last.Repositories, func(r repository) bool {
		return seen != "" && r.Seen == seen && r.Trees[0].Dir == s.top
	})
	if i < 0 {
		return nil
	}
	r := w.last.Repositories[i]
	from := filepath.Join(w.Last, r.Bundle)
	info, err := os.Lstat(from)
	if err != nil || !info.Mode().IsRegular() || info.Size() != r.Size || w.used+r.Size > w.limit {
		return nil
	}
	r.Bundle = w.bundle
	if os.Link(from, filepath.Join(w.To, r.Bundle)) != nil {
		return nil
	}
	return &r
}

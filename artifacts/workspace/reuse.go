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

// unreliable is the time after a change in which another change may not alter a file's times. The
// coarsest file system clock has a resolution of two seconds.
const unreliable = 2 * time.Second

func (g *Git) unreliableFor() time.Duration {
	return cmp.Or(g.unreliable, unreliable)
}

// fingerprint returns a hash of everything that the save of a repository depends on: refs, status, and the
// times and sizes of changed files. It is "" if a file changed so recently that another change could go
// unnoticed.
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

// reuse takes a repository from the last save. It returns nil if the repository has changed or its
// bundle is missing.
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

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// weigh adds up the files that will be read, before anything is written.
func weigh(trees []*worktree, limit int64) error {
	var all []heavy
	for _, t := range trees {
		for _, e := range t.status {
			info, err := os.Lstat(filepath.Join(t.Dir, filepath.FromSlash(e.path)))
			if e.changed != '.' && err == nil && info.Mode().IsRegular() {
				all = append(all, heavy{e.path, info.Size()})
			}
		}
	}
	if most := limit * rawFactor; total(all) > most {
		return fmt.Errorf("%w: changed files of %s (%s), over %s", ErrTooLarge, sizes(total(all)), largest(all), sizes(most))
	}
	return nil
}

// heavy is something large.
type heavy struct {
	path string
	size int64
}

func total(all []heavy) (n int64) {
	for _, h := range all {
		n += h.size
	}
	return n
}

// largest names the three that matter most.
func largest(all []heavy) string {
	slices.SortStableFunc(all, func(a, b heavy) int { return int(min(max(b.size-a.size, -1), 1)) })
	var names []string
	for _, h := range all[:min(3, len(all))] {
		names = append(names, fmt.Sprintf("%q has %s", h.path, sizes(h.size)))
	}
	return strings.Join(names, ", ")
}

// tooLarge names the largest of what a bundle would hold, by one of the sizes that git
// knows of an object.
func (p *packer) tooLarge(ctx context.Context, why, bySize string) error {
	c := p.call
	c.in = strings.NewReader(p.reach(saveRef))
	objects, err := p.git.output(ctx, c, "rev-list", "--objects", "--stdin")
	if err != nil {
		return errors.Join(ErrTooLarge, err)
	}
	lines, err := p.git.objects(ctx, c, "%("+bySize+") %(rest)", strings.Split(strings.TrimSpace(string(objects)), "\n"))
	if err != nil {
		return errors.Join(ErrTooLarge, err)
	}
	var all []heavy
	for _, line := range lines {
		var h heavy
		size, path, _ := strings.Cut(line, " ")
		if _, err := fmt.Sscan(size, &h.size); err == nil && path != "" {
			h.path = withoutPlace(path)
			all = append(all, h)
		}
	}
	return fmt.Errorf("%w: %s (%s)", ErrTooLarge, why, largest(all))
}

// withoutPlace takes the part of a path off that says where it is in our commit.
func withoutPlace(path string) string {
	if parts := strings.SplitN(path, "/", 3); len(parts) == 3 && (parts[1] == "work" || parts[1] == "index") {
		return parts[2]
	}
	return path
}

package gitguard

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// baseline is what trusted people and scripts have left of git's settings and hooks.
type baseline struct {
	seen    map[string]bool               // paths of settings that were looked at
	configs map[string]content            // of those that were there
	hooks   map[string]map[string]content // by folder and name
	links   map[string]string             // folders of hooks that are links, and where these lead
}

func newBaseline() baseline {
	return baseline{map[string]bool{}, map[string]content{}, map[string]map[string]content{}, map[string]string{}}
}

// take takes what is there as it is.
func (b *baseline) take(r *repository) error {
	for _, path := range slices.Concat(r.configs, r.targets) {
		c, err := contentOf(path, maxConfig)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		b.seen[path] = true
		delete(b.configs, path)
		if err == nil {
			b.configs[path] = c
		}
	}
	for _, dir := range r.hooks {
		all, err := hooksIn(dir)
		if err != nil {
			return err
		}
		b.hooks[dir] = all
		b.links[dir], _ = os.Readlink(dir) // "" for a real folder
	}
	return nil
}

// restore takes back what agents may not change, and returns what that was.
func (b *baseline) restore(r *repository) (changed []string, err error) {
	// What an agent's own link leads to may be anything, and is left alone: the link goes.
	known := slices.DeleteFunc(slices.Clone(r.targets), func(path string) bool { return !b.seen[path] })
	for _, path := range slices.Concat(r.configs, known) {
		keys, err := b.restoreConfig(path)
		changed = append(changed, keys...)
		if err != nil {
			return changed, err
		}
	}
	for _, dir := range r.hooks {
		names, err := b.restoreHooks(dir)
		changed = append(changed, names...)
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// restoreConfig writes a file whose bytes are not as they were anew, so that git reads in
// it what was read here, and nothing else.
func (b *baseline) restoreConfig(path string) (changed []string, err error) {
	now, err := contentOf(path, maxConfig)
	was, isKnown := b.configs[path]
	isMissing, isWrong := errors.Is(err, fs.ErrNotExist), err != nil || now.link != "" // a pipe, a link, a huge file
	switch {
	case isMissing && !isKnown, err == nil && isKnown && now.equals(was):
		return nil, nil
	case isKnown && (isWrong || was.link != ""):
		return []string{path}, was.put(path)
	case isWrong:
		return []string{path}, os.RemoveAll(path)
	}
	list, isRead := parse(now.data)
	before, _ := parse(was.data)
	if !b.seen[path] { // somebody made it since, with all around it
		before = slices.DeleteFunc(slices.Clone(list), func(s setting) bool { return !s.isHarmless() })
	}
	merged, changed := merge(before, list)
	if !isRead {
		changed = append(changed, path)
	}
	text := encode(merged)
	if bytes.Equal(now.data, text) {
		return changed, nil
	}
	if len(merged) == 0 && !isKnown {
		return changed, os.RemoveAll(path)
	}
	return changed, content{data: text, mode: max(was.mode, 0o600)}.put(path)
}

// restoreHooks leaves samples alone: git runs none.
func (b *baseline) restoreHooks(dir string) (changed []string, err error) {
	was := b.hooks[dir]
	if isOther, err := b.restoreHookFolder(dir); err != nil {
		return []string{dir}, err
	} else if isOther {
		changed = append(changed, dir)
	}
	now, err := hooksIn(dir)
	if err != nil {
		return changed, err
	}
	for name := range now {
		if _, isKnown := was[name]; isKnown || isSample(name) {
			continue
		}
		changed = append(changed, filepath.Join(dir, name))
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return changed, err
		}
	}
	for name, c := range was {
		if c.isStrange() || now[name].equals(c) || isSample(name) {
			continue
		}
		changed = append(changed, filepath.Join(dir, name))
		if err := c.put(filepath.Join(dir, name)); err != nil {
			return changed, err
		}
	}
	slices.Sort(changed)
	return changed, nil
}

func isSample(name string) bool { return strings.HasSuffix(name, ".sample") }

// restoreHookFolder makes a folder of hooks a folder again, or the link that it was, and
// reports whether it was another one.
func (b *baseline) restoreHookFolder(dir string) (isOther bool, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) && b.links[dir] == "" || err == nil && info.IsDir() && b.links[dir] == "" {
		return false, nil
	}
	link, _ := os.Readlink(dir)
	if link != "" && link == b.links[dir] {
		return false, nil
	}
	if err := os.RemoveAll(dir); err != nil || b.links[dir] == "" {
		return true, err
	}
	return true, os.Symlink(b.links[dir], dir)
}

// hooksIn reads a folder of hooks, by their names in it. Of what is strange only the name
// is known.
func hooksIn(dir string) (map[string]content, error) {
	all := map[string]content{}
	root, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if len(all) >= maxHooks {
			return fmt.Errorf("%q has more than %d files", dir, maxHooks)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		c, err := contentOf(path, maxHook)
		if err != nil {
			c = content{mode: fs.ModeIrregular}
		}
		all[name] = c
		return nil
	})
	return all, err
}

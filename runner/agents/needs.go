package agents

import (
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/runner"
)

// Needs returns what the cage of a run has to know in which the given agent CLIs are used: what
// these need, what any of them obeys, and the logins of the others. Files that a used one must
// find, since a cage does not let it make them, are made.
func Needs(c Config, used []string) runner.Needs {
	var all runner.Needs
	for name, a := range New(c) {
		n := a.Needs()
		all.Guarded = append(all.Guarded, n.Guarded...)
		if !slices.Contains(used, name) {
			all.Logins = append(all.Logins, n.Logins...)
			continue
		}
		if f, ok := a.(interface{ Furnish() }); ok {
			f.Furnish()
		}
		all.Read, all.Write, all.Hosts = append(all.Read, n.Read...), append(all.Write, n.Write...), append(all.Hosts, n.Hosts...)
	}
	for _, list := range []*[]string{&all.Read, &all.Write, &all.Logins, &all.Guarded} {
		*list = slices.DeleteFunc(*list, func(path string) bool { return !filepath.IsAbs(path) })
		slices.Sort(*list)
	}
	slices.Sort(all.Hosts)
	all.Hosts = slices.Compact(all.Hosts)
	return all
}

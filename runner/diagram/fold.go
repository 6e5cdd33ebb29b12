package diagram

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// maxReadable is how many nodes a person takes in. Where the path of a run has
// more, states that did not run go, and those become one node that follow each
// other without a choice, or that have the same states before and after them.
const maxReadable = 30

// group is the states that one node stands for.
type group struct {
	names []string // the first is the node's name
	title []string // lines
}

// fold makes a path readable that has many states. The places where agents stand
// or failed stay as they are.
func (g *graph) fold() {
	if g.path == nil || len(g.nodes) <= maxReadable {
		return
	}
	g.groups = map[string]group{}
	g.dropIdle()
	for len(g.nodes) > maxReadable && (g.foldChains() || g.foldLikes()) {
	}
}

// dropIdle drops the states that the run did not come to.
func (g *graph) dropIdle() {
	isIdle := func(name string) bool {
		return !isNoState(name) && g.path.states[name] == 0 && !g.stands(name) || strings.HasPrefix(name, missPrefix)
	}
	all := len(g.nodes)
	g.nodes = slices.DeleteFunc(g.nodes, isIdle)
	g.idle = all - len(g.nodes)
	g.lines = slices.DeleteFunc(g.lines, func(l line) bool { return isIdle(l.from) || isIdle(l.to) })
	in, _ := g.ends()
	g.nodes = slices.DeleteFunc(g.nodes, func(name string) bool { return name == endNode && len(in[name]) == 0 })
}

func isNoState(name string) bool { return name == startNode || name == endNode || name == openNode }

// stands reports whether an agent stands at a state, or failed in it.
func (g *graph) stands(name string) bool {
	if g.standing == nil {
		g.standing = map[string]bool{}
		for _, a := range g.path.agents {
			g.standing[a.state] = true
		}
	}
	return g.standing[name]
}

// isFoldable reports whether a node may become a part of another one.
func (g *graph) isFoldable(name string) bool {
	return !isNoState(name) && !strings.HasPrefix(name, missPrefix) && !g.stands(name)
}

// foldChains makes one node of states that are the only way on from each other.
// It reports whether there were any.
func (g *graph) foldChains() bool {
	in, out := g.ends()
	after := map[string]string{}
	isLater := map[string]bool{}
	for _, name := range g.nodes {
		if len(out[name]) != 1 || !g.isFoldable(name) {
			continue
		}
		next := out[name][0].to
		if next != name && len(in[next]) == 1 && g.isFoldable(next) {
			after[name], isLater[next] = next, true
		}
	}
	var all [][]string
	for _, name := range g.nodes {
		if isLater[name] || after[name] == "" {
			continue
		}
		chain := []string{name}
		for next := after[name]; next != ""; next = after[next] {
			chain = append(chain, next)
		}
		all = append(all, chain)
	}
	g.join(all, true)
	return len(all) > 0
}

// ends returns the lines by the nodes that they lead to and come from.
func (g *graph) ends() (in, out map[string][]line) {
	in, out = map[string][]line{}, map[string][]line{}
	for _, l := range g.lines {
		in[l.to], out[l.from] = append(in[l.to], l), append(out[l.from], l)
	}
	return in, out
}

// foldLikes makes one node of the states that have the same lines to and from
// the same states. It reports whether there were any.
func (g *graph) foldLikes() bool {
	in, out := g.ends()
	byLook := map[string][]string{}
	for _, name := range g.nodes {
		if g.isFoldable(name) {
			k := g.surroundings(name, in[name], out[name])
			byLook[k] = append(byLook[k], name)
		}
	}
	var all [][]string
	for _, k := range slices.Sorted(maps.Keys(byLook)) {
		if names := byLook[k]; len(names) > 1 {
			all = append(all, names)
		}
	}
	g.join(all, false)
	return len(all) > 0
}

// surroundings is the same text for states with the same lines.
func (g *graph) surroundings(name string, in, out []line) string {
	var parts []string
	for _, l := range in {
		if l.from != name {
			parts = append(parts, fmt.Sprintf("%d<%s", l.kind, l.from))
		}
	}
	for _, l := range out {
		to := l.to
		if to == name {
			to = ""
		}
		parts = append(parts, fmt.Sprintf("%d>%s>%s", l.kind, to, l.after))
	}
	slices.Sort(parts)
	var kind protocol.Kind
	if st, ok := g.workflow.State(name); ok {
		kind = st.Kind
	}
	return fmt.Sprint(kind, "\n", strings.Join(parts, "\n"))
}

// join makes one node of each of the lists.
func (g *graph) join(lists [][]string, isChain bool) {
	into := map[string]string{}
	for _, names := range lists {
		var all []string
		for _, name := range names {
			into[name] = names[0]
			all = append(all, g.members(name)...)
		}
		title := []string{g.title(names[0])[0], "to " + label(all[len(all)-1]), fmt.Sprintf("%d states", len(all))}
		if !isChain {
			title = append(slices.Clone(g.title(names[0])), fmt.Sprintf("and %d like it", len(names)-1))
		}
		g.groups[names[0]] = group{names: all, title: title}
	}
	isPart := func(name string) bool { return into[name] != "" && into[name] != name }
	g.nodes = slices.DeleteFunc(g.nodes, isPart)
	g.joinLines(into, isChain)
}

// members are the states that a node stands for.
func (g *graph) members(name string) []string {
	if list, ok := g.groups[name]; ok {
		return list.names
	}
	return []string{name}
}

// joinLines moves the lines to the nodes that others went into, and drops those
// within a chain.
func (g *graph) joinLines(into map[string]string, isChain bool) {
	at := map[line]int{}
	var lines []line
	for _, l := range g.lines {
		from, to := l.from, l.to
		if into[from] != "" {
			l.from = into[from]
		}
		if into[to] != "" {
			l.to = into[to]
		}
		if isChain && l.from == l.to && from != to {
			continue
		}
		taken := l.taken
		l.taken = 0
		i, ok := at[l]
		if !ok {
			i = len(lines)
			at[l] = i
			lines = append(lines, l)
		}
		lines[i].taken += taken
	}
	g.lines = lines
}

// runs is how often the states of a node ran.
func (g *graph) runs(name string) int {
	n := 0
	for _, member := range g.members(name) {
		n += g.path.states[member]
	}
	return n
}

// title is what a node is called, in lines.
func (g *graph) title(name string) []string {
	if list, ok := g.groups[name]; ok {
		return slices.Clone(list.title)
	}
	return []string{label(name)}
}

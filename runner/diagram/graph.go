package diagram

import (
	"cmp"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// Kind is what a line of a diagram stands for, as its label says it: the verb of a tag, or one of those below.
type Kind string

// The kinds of lines that are of no verb.
const (
	Next      Kind = "next" // where the parent of a fork continues
	Exhausted Kind = "attempts used up"
	TimedOut  Kind = "no answer" // of a question that nobody answers
	anyMove   Kind = "any move"
	then      Kind = "then" // where a call continues, when nothing shows what returns there
)

// The verbs that are drawn in ways of their own.
const (
	Fork     = Kind(protocol.Fork)
	Ask      = Kind(protocol.Ask)
	result   = Kind(protocol.Result)
	call     = Kind(protocol.Call)
	function = Kind(protocol.Function)
	join     = Kind(protocol.Join)
)

// kindOf is the kind of what an exit does.
func kindOf(verb protocol.Verb) Kind { return cmp.Or(Kind(verb), anyMove) }

// Names of nodes that are not states. No file can have them.
const (
	startNode  = "/start"
	endNode    = "/end"
	openNode   = "/open"
	missPrefix = "/missing/"
)

// line is an arrow of the diagram.
type line struct {
	from, to string // names of states or of other nodes
	kind     Kind
	taken    int    // how often the run took it
	after    string // of a call: where it returns to
	delay    string // how long the agent waits on it, as it is written; "" where it isn't said
}

// graph is what a diagram shows.
type graph struct {
	workflow *protocol.Workflow
	chart    *protocol.Chart
	path     *Path
	lines    []line
	nodes    []string // in the order in which they are drawn

	has     map[line]bool
	endings map[string][]string // the states in which a call of a state ends
}

// build collects the lines of a workflow and of a run.
func build(w *protocol.Workflow, p *Path) *graph {
	g := &graph{workflow: w, chart: w.Chart(), path: p, has: map[line]bool{}, endings: map[string][]string{}}
	if entry := w.Entry(); entry != "" {
		g.add(line{from: startNode, to: entry})
		g.results(entry, endNode)
	}
	for _, name := range g.chart.States() {
		for _, e := range g.chart.Exits(name) {
			g.exit(name, e)
		}
		if g.chart.IsOpaque(name) {
			g.add(line{from: name, to: openNode, kind: anyMove})
		}
	}
	if p != nil {
		g.walk()
	}
	g.order()
	return g
}

// add adds a line unless it is there.
func (g *graph) add(l line) {
	if !g.has[l] {
		g.has[l] = true
		g.lines = append(g.lines, l)
	}
}

// node returns the name of the node for a goal.
func node(goal protocol.Target) string {
	switch {
	case goal.State != "":
		return goal.State
	case goal.Open:
		return openNode
	}
	return missPrefix + goal.Name
}

func (g *graph) exit(name string, e protocol.Exit) {
	to := node(e.Target)
	k := kindOf(e.Verb)
	switch {
	case e.OnExhausted:
		g.add(line{from: name, to: to, kind: Exhausted})
	case k == result:
	case e.TimedOut:
		g.add(line{from: name, to: to, kind: TimedOut, delay: e.Delay})
	case k == Fork:
		g.add(line{from: name, to: to, kind: Fork})
		g.add(line{from: name, to: node(e.Next), kind: Next})
		g.results(e.Target.State, endNode)
	case k == call || k == function:
		g.add(line{from: name, to: to, kind: k, after: e.Next.Name})
		if !g.results(e.Target.State, node(e.Next)) {
			g.add(line{from: name, to: node(e.Next), kind: then})
		}
	default:
		g.add(line{from: name, to: to, kind: k, delay: e.Delay})
	}
}

// results adds the lines from the states that end with a result what begins at from.
// They lead to the state after it. It reports whether there is one.
func (g *graph) results(from, to string) bool {
	ends, known := g.endings[from]
	if !known {
		for _, name := range g.level(from) {
			isResult := func(e protocol.Exit) bool { return e.Verb == protocol.Result }
			if slices.ContainsFunc(g.chart.Exits(name), isResult) {
				ends = append(ends, name)
			}
		}
		g.endings[from] = ends
	}
	for _, name := range ends {
		g.add(line{from: name, to: to, kind: result})
	}
	return len(ends) > 0
}

// level returns the states that an agent can reach from one without leaving its call:
// of a call it follows the state after the return.
func (g *graph) level(from string) []string {
	var found []string
	seen := map[string]bool{"": true}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		found = append(found, queue[0])
		for _, e := range g.chart.Exits(queue[0]) {
			onward := e.Target.State
			if k := kindOf(e.Verb); k == call || k == function || k == Fork {
				onward = e.Next.State
			}
			queue = append(queue, onward)
		}
	}
	return found
}

// walk marks the lines that the run took, and adds those that the files don't have.
func (g *graph) walk() {
	moves := slices.SortedFunc(maps.Keys(g.path.Moves), func(a, b Move) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(b.Kind, a.Kind))
	})
	at := map[Move]int{} // the first line of each move
	for i, l := range slices.Backward(g.lines) {
		at[Move{l.from, l.to, l.kind}] = i
	}
	for _, m := range moves {
		n := g.path.Moves[m]
		m.To = cmp.Or(m.To, endNode)
		i, known := at[m]
		if !known {
			i = len(g.lines)
			at[m] = i
			g.lines = append(g.lines, line{from: m.From, to: m.To, kind: m.Kind})
		}
		g.lines[i].taken += n
	}
	for i, l := range g.lines {
		if l.from == startNode {
			g.lines[i].taken = min(1, g.path.States[l.to])
		}
	}
}

// order collects the nodes (the start, the states, states that only the run has, other
// nodes, the end) and sorts the lines by where they begin.
func (g *graph) order() {
	position := map[string]int{}
	add := func(name string) {
		if _, known := position[name]; !known {
			position[name] = len(g.nodes)
			g.nodes = append(g.nodes, name)
		}
	}
	add(startNode)
	for _, name := range g.chart.States() {
		add(name)
	}
	if g.path != nil {
		for _, name := range slices.Sorted(maps.Keys(g.path.States)) {
			add(name)
		}
	}
	for _, l := range g.lines {
		add(l.from)
		add(l.to)
	}
	if at, has := position[endNode]; has {
		g.nodes = append(slices.Delete(g.nodes, at, at+1), endNode)
	}
	slices.SortStableFunc(g.lines, func(a, b line) int { return position[a.from] - position[b.from] })
}

// The limits of a diagram. On GitHub, Mermaid refuses more than 500 lines or 50,000
// characters, and nobody reads that much.
const (
	maxNodes     = 120
	maxPathNodes = 60 // in a diagram with a path
	linesPerNode = 2  // twice as many lines as nodes
)

// trim keeps at most limit nodes and linesPerNode times as many lines, those of the run
// before others. It returns how many states and lines it dropped.
func (g *graph) trim(limit int) (states, lines int) {
	if states = max(0, len(g.nodes)-limit); states > 0 {
		rank := map[string]int{}
		for _, name := range g.nodes {
			rank[name] = g.rank(name)
		}
		slices.SortStableFunc(g.nodes, func(a, b string) int { return rank[a] - rank[b] })
		g.nodes = g.nodes[:limit]
	}
	isShown := map[string]bool{}
	for _, name := range g.nodes {
		isShown[name] = true
	}
	all := len(g.lines)
	g.lines = slices.DeleteFunc(g.lines, func(l line) bool { return !isShown[l.from] || !isShown[l.to] })
	if limit *= linesPerNode; len(g.lines) > limit {
		slices.SortStableFunc(g.lines, func(a, b line) int { return min(b.taken, 1) - min(a.taken, 1) })
		g.lines = g.lines[:limit]
	}
	return states, all - len(g.lines)
}

// rank is low for the nodes that a trimmed diagram keeps.
func (g *graph) rank(name string) int {
	switch {
	case name == startNode || name == endNode || name == openNode:
		return 0
	case g.path == nil:
		return 2
	}
	if here := g.path.at(name); here.works || here.failed || len(here.waits) > 0 {
		return 0
	}
	if g.path.States[name] > 0 {
		return 1
	}
	return 2
}

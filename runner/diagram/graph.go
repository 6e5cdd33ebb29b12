package diagram

import (
	"cmp"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// Kind is the kind of a line, which is also its label: the verb of a tag, or one of the kinds
// below.
type Kind string

// The kinds of lines that are not verbs.
const (
	Next      Kind = "next" // from a fork to the parent's next state
	Exhausted Kind = "attempts used up"
	TimedOut  Kind = "no answer" // from a question to the state after its timeout
	anyMove   Kind = "any move"
	then      Kind = "then" // from a call to its return state, if no result of the callee is known
)

// The verbs that are drawn in a special way.
const (
	Fork     = Kind(protocol.Fork)
	Ask      = Kind(protocol.Ask)
	result   = Kind(protocol.Result)
	call     = Kind(protocol.Call)
	function = Kind(protocol.Function)
	join     = Kind(protocol.Join)
)

// kindOf returns the kind of a line for the verb of an exit.
func kindOf(verb protocol.Verb) Kind { return cmp.Or(Kind(verb), anyMove) }

// Names of nodes that are not states. A slash can't occur in a file name.
const (
	startNode     = "/start"
	endNode       = "/end"
	openNode      = "/open"
	missingPrefix = "/missing/"
)

// line is a line of the diagram.
type line struct {
	from, to    string // names of states or of other nodes
	kind        Kind
	taken       int    // how often the run took the line
	returnState string // of a call: its return state
	delay       string // delay of the agent on this line, as written; "" for none
}

// graph contains the nodes and lines of a diagram.
type graph struct {
	workflow *protocol.Workflow
	chart    *protocol.Chart
	path     *Path
	lines    []line
	nodes    []string // in the order in which they are drawn

	has          map[line]bool
	resultStates map[string][]string // by the first state of a call: the states that end the call with a result
}

// build collects the lines of a workflow and of a run.
func build(w *protocol.Workflow, p *Path) *graph {
	g := &graph{workflow: w, chart: w.Chart(), path: p, has: map[line]bool{}, resultStates: map[string][]string{}}
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

// add adds a line if the graph doesn't have it.
func (g *graph) add(l line) {
	if !g.has[l] {
		g.has[l] = true
		g.lines = append(g.lines, l)
	}
}

// node returns the name of the node for a target.
func node(goal protocol.Target) string {
	switch {
	case goal.State != "":
		return goal.State
	case goal.Open:
		return openNode
	}
	return missingPrefix + goal.Name
}

// exit adds the lines of one exit of a state.
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
		g.add(line{from: name, to: to, kind: k, returnState: e.Next.Name})
		if !g.results(e.Target.State, node(e.Next)) {
			g.add(line{from: name, to: node(e.Next), kind: then})
		}
	default:
		g.add(line{from: name, to: to, kind: k, delay: e.Delay})
	}
}

// results adds lines to the node "to" from all states that end with a result what begins at from.
// It reports whether there are such states.
func (g *graph) results(from, to string) bool {
	ends, known := g.resultStates[from]
	if !known {
		for _, name := range g.level(from) {
			isResult := func(e protocol.Exit) bool { return e.Verb == protocol.Result }
			if slices.ContainsFunc(g.chart.Exits(name), isResult) {
				ends = append(ends, name)
			}
		}
		g.resultStates[from] = ends
	}
	for _, name := range ends {
		g.add(line{from: name, to: to, kind: result})
	}
	return len(ends) > 0
}

// level returns the states that an agent can reach from a state without leaving its call. Calls are
// skipped: level continues with their return state.
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

// walk counts how often the run took each line, and adds the lines that the files don't have.
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

// order collects the nodes (start, states of the workflow, states of the run only, other nodes,
// end) and sorts the lines by their first node.
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

// The limits of a diagram. Mermaid on GitHub rejects more than 500 lines or 50,000 characters, and
// a reader can't follow that many.
const (
	maxNodes     = 120
	maxPathNodes = 60 // in a diagram with a path
	linesPerNode = 2  // at most this many lines per node
)

// trim reduces the graph to limit nodes and linesPerNode times as many lines, and prefers those of
// the run. It returns how many nodes and lines it dropped.
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

// rank returns the priority of a node when a diagram is trimmed; nodes with a low rank are kept.
func (g *graph) rank(name string) int {
	switch {
	case name == startNode || name == endNode || name == openNode:
		return 0
	case g.path == nil:
		return 2
	}
	if here := g.path.at(name); here.hasWorking || here.hasFailed || len(here.waits) > 0 {
		return 0
	}
	if g.path.States[name] > 0 {
		return 1
	}
	return 2
}

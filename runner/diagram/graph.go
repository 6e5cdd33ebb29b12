package diagram

import (
	"cmp"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// Kind is the kind of a line. It is also the label of the line, and is either the verb of a tag or
// a kind in the list below.
type Kind string

// The kinds of lines that are not verbs of tags.
const (
	Next      Kind = "next" // from a state that forks agents to the parent's next state
	Exhausted Kind = "attempts used up"
	TimedOut  Kind = "no answer" // from a question to the state that follows its timeout
	anyMove   Kind = "any move"
	// then goes from a call to its return state if no state is known that ends the call with a
	// result.
	then Kind = "then"
)

// The verbs that this package handles in a special way.
const (
	Fork     = Kind(protocol.Fork)
	Ask      = Kind(protocol.Ask)
	result   = Kind(protocol.Result)
	call     = Kind(protocol.Call)
	function = Kind(protocol.Function)
	join     = Kind(protocol.Join)
)

// kindOf returns the kind of line for the verb of an exit, or anyMove if the exit has no verb.
func kindOf(verb protocol.Verb) Kind { return cmp.Or(Kind(verb), anyMove) }

// Names of nodes that are not states. They contain a slash, which a file name can't contain.
const (
	startNode     = "/start"
	endNode       = "/end"
	openNode      = "/open"
	missingPrefix = "/missing/"
)

// line connects two nodes of the diagram.
type line struct {
	from, to    string // names of states or of other nodes
	kind        Kind
	taken       int    // how often the run took the line
	returnState string // return state of a call; otherwise empty
	// delay is the time until the agent takes this line, as written in the workflow. It may be
	// empty.
	delay string
}

// graph contains the nodes and lines of a diagram.
type graph struct {
	workflow *protocol.Workflow
	chart    *protocol.Chart
	path     *Path
	lines    []line
	nodes    []string // in the order in which they are drawn

	has map[line]bool // contains all lines, to avoid duplicates
	// resultStates maps the first state of a call to the states that end the call with a result.
	resultStates map[string][]string
}

// build returns the graph of a workflow and of the path of a run, which may be nil.
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

// add adds a line unless the graph already contains it.
func (g *graph) add(l line) {
	if !g.has[l] {
		g.has[l] = true
		g.lines = append(g.lines, l)
	}
}

// node returns the name of the node that represents the target of a transition.
func node(goal protocol.Target) string {
	switch {
	case goal.State != "":
		return goal.State
	case goal.Open:
		return openNode
	}
	return missingPrefix + goal.Name
}

// exit adds the lines for one possible transition from a state.
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

// results adds a line to the node "to" from each state that ends, with a result, the call that
// starts at the state "from". It reports whether there are such states.
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

// level returns the states that an agent can reach from a state without returning from the call
// that contains the state. It does not follow calls and forks, but continues with the state after
// them.
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

// walk counts how often the run took each line. It adds the lines that the run took but that the
// workflow doesn't contain.
func (g *graph) walk() {
	moves := slices.SortedFunc(maps.Keys(g.path.Moves), func(a, b Move) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(b.Kind, a.Kind))
	})
	at := map[Move]int{} // index of the first line for each move
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

// order collects the nodes in the order in which they are drawn: start, states of the workflow,
// states that only the run contains, other nodes, end. It also sorts the lines by their first node.
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

// The limits of a diagram. Mermaid on GitHub rejects diagrams with more than 500 lines or 50,000
// characters, and a reader can't follow a diagram of that size.
const (
	maxNodes     = 120
	maxPathNodes = 60 // limit for a diagram with a path
	linesPerNode = 2  // maximum number of lines per node
)

// trim reduces the graph to limit nodes and linesPerNode times as many lines. It prefers nodes and
// lines that the run used. It returns how many nodes and lines it removed.
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

// rank returns the priority of a node when the graph is trimmed. Nodes with a lower rank are kept.
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

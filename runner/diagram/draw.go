package diagram

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Draw returns the workflow as a Mermaid flowchart. If p is not nil, the diagram also shows the
// path of a run: how often each state ran and each arrow was taken, where agents are, and where an
// agent failed. States and arrows that are part of the path but no longer of the workflow are
// added. A workflow that can't be started is drawn as far as its files can be read. State names
// can't break the diagram.
//
// If a diagram is too large for GitHub or for a reader, Draw leaves out states and arrows, and adds
// a node with their numbers. States in which the run was are kept if possible.
func Draw(w *protocol.Workflow, p *Path) string {
	limit := maxNodes
	if p != nil {
		limit = maxPathNodes
	}
	g := build(w, p)
	states, lines := g.trim(limit)
	d := &drawing{graph: g, ids: map[string]string{}, classes: map[string][]string{}, strokes: map[string][]string{}}
	d.b.WriteString("flowchart TB\n")
	for i, name := range g.nodes {
		d.ids[name] = fmt.Sprintf("s%d", i)
		d.node(name)
	}
	d.lines()
	var parts []string
	if states > 0 {
		parts = append(parts, state.Count(states, "state"))
	}
	if lines > 0 {
		parts = append(parts, state.Count(lines, "arrow"))
	}
	if len(parts) > 0 {
		fmt.Fprintf(&d.b, "    more[\"not shown: %s\"]\n", strings.Join(parts, ", "))
		d.classes["idle"] = append(d.classes["idle"], "more")
	}
	for _, style := range slices.Sorted(maps.Keys(d.strokes)) {
		fmt.Fprintf(&d.b, "    linkStyle %s %s\n", strings.Join(d.strokes[style], ","), style)
	}
	for _, def := range classDefs {
		if ids := d.classes[def[0]]; len(ids) > 0 {
			fmt.Fprintf(&d.b, "    classDef %s %s\n", def[0], def[1])
			fmt.Fprintf(&d.b, "    class %s %s\n", strings.Join(ids, ","), def[0])
		}
	}
	return d.b.String()
}

// drawing collects the text of a diagram.
type drawing struct {
	*graph
	b       strings.Builder
	ids     map[string]string
	classes map[string][]string // ids of the nodes in each class
	strokes map[string][]string // numbers of the lines in each style
}

// node writes the node with the given name.
func (d *drawing) node(name string) {
	id := d.ids[name]
	write := func(class, format, text string) {
		d.classes[class] = append(d.classes[class], id)
		fmt.Fprintf(&d.b, "    %s"+format+"\n", id, text)
	}
	missing, isMissing := strings.CutPrefix(name, missingPrefix)
	st, known := d.workflow.State(name)
	switch {
	case name == startNode:
		write("terminal", "([\"%s\"])", "start")
	case name == endNode:
		write("terminal", "([\"%s\"])", "end")
	case name == openNode:
		write("open", "([\"%s\"])", "known at run time")
	case isMissing:
		write("missing", "[\"%s\"]", label(missing)+"<br/>missing")
	case !known:
		write("missing", "[\"%s\"]", d.text(name)+"<br/>no longer there")
	case st.Kind == protocol.Script:
		write("script", "[[\"%s\"]]", d.text(name))
	default:
		write("prompt", "(\"%s\")", d.text(name))
	}
}

// text returns the label of a state's node: the settings of the state or, if there is a path, what
// happened in the state. It also adds the node to the classes that determine its style.
func (d *drawing) text(name string) string {
	parts := []string{label(name)}
	st, known := d.workflow.State(name)
	if known && st.Job != "" {
		parts = append(parts, "job "+label(st.Job))
	}
	if d.path == nil {
		if known && st.Policy.Transitions.Restricted {
			d.classes["policy"] = append(d.classes["policy"], d.ids[name])
			parts = append(parts, "policy")
		}
		if known && st.Policy.Convergence != nil {
			parts = append(parts, fmt.Sprintf("until done, %d× at most", st.Policy.Convergence.MaxAttempts))
		}
		return strings.Join(parts, "<br/>")
	}
	runs := d.path.States[name]
	if runs > 0 {
		parts[0] += fmt.Sprintf("  %d×", runs)
	}
	if attempts := d.path.Attempts[name]; attempts > runs {
		parts = append(parts, fmt.Sprintf("%d attempts", attempts))
	}
	class, text := "idle", ""
	switch here := d.path.at(name); {
	case here.hasFailed:
		class, text = "failed", "FAILED"
	case here.hasWorking && d.path.IsOver:
		class, text = "here", "stopped here"
	case here.hasWorking:
		class, text = "here", "here now"
	case len(here.waits) > 0:
		class = "waits"
		for _, w := range here.waits {
			parts = append(parts, cmp.Or(waitWords[w], "waits"))
		}
	case runs > 0:
		class = "taken"
	}
	d.classes[class] = append(d.classes[class], d.ids[name])
	if text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "<br/>")
}

// waitWords maps the reason for which an agent waits before a state to the label of the state's
// node.
var waitWords = map[state.WaitFor]string{
	state.ForTime: "waits for its time", state.ForAnswer: "waits for an answer", state.ForAgents: "waits for agents", state.ForJob: "waits for the job",
}

// arrow represents all lines between two nodes that look the same.
type arrow struct {
	from, to string
	look
	labels []string
	taken  int
}

// look is the style of a line.
type look struct{ shape, color string }

// looks maps the kinds of lines that don't have the default style to their styles.
var looks = map[Kind]look{
	call: {"==>", "#8250df"}, function: {"==>", "#8250df"}, then: {"-.->", "#8250df"}, result: {"-.->", "#8250df"},
	Fork: {"==>", "#bc4c00"}, join: {"-.->", "#bc4c00"}, Ask: {"-->", "#0969da"},
	Exhausted: {"-.->", "#cf222e"}, TimedOut: {"-.->", "#cf222e"}, anyMove: {"-.->", "#8b949e"},
}

// look returns the style of the line.
func (l line) look() look {
	if how, ok := looks[l.kind]; ok && (l.kind != result || l.to != endNode) {
		return how
	}
	return look{"-->", "#8b949e"}
}

// label returns the text of a line: its kind, its return state, its delay, and how often the run
// took it.
func (l line) label() string {
	text := label(string(l.kind))
	if l.returnState != "" {
		text += ", then " + label(l.returnState)
	}
	switch {
	case l.delay == "":
	case l.kind == TimedOut:
		text += " in " + label(l.delay)
	default:
		text += " after " + label(l.delay)
	}
	if l.taken > 0 {
		text += fmt.Sprintf("  %d×", l.taken)
	}
	return text
}

// lines combines the lines of the graph that look the same into arrows, writes the arrows, and records
// the numbers of the arrows in each style.
func (d *drawing) lines() {
	var all []*arrow
	for _, l := range d.graph.lines {
		i := slices.IndexFunc(all, func(a *arrow) bool { return a.from == l.from && a.to == l.to && a.look == l.look() })
		if i < 0 {
			all = append(all, &arrow{from: l.from, to: l.to, look: l.look()})
			i = len(all) - 1
		}
		all[i].taken += l.taken
		if l.from != startNode {
			all[i].labels = append(all[i].labels, l.label())
		}
	}
	for i, a := range all {
		text := ""
		if len(a.labels) > 0 {
			text = "|\"" + strings.Join(a.labels, "<br/>") + "\"|"
		}
		fmt.Fprintf(&d.b, "    %s %s%s %s\n", d.ids[a.from], a.shape, text, d.ids[a.to])
		style := "stroke:" + a.color
		switch {
		case d.path == nil:
		case a.taken > 0:
			style = "stroke:#2da44e,stroke-width:4px"
		default:
			style = "stroke:#8b949e,stroke-width:1px,opacity:0.5"
		}
		d.strokes[style] = append(d.strokes[style], fmt.Sprint(i))
	}
}

// classDefs lists the classes of nodes with their styles. A later class overrides an earlier one.
// The colors are readable on GitHub's light and dark pages.
var classDefs = [][2]string{
	{"prompt", "fill:#ddf4ff,stroke:#0969da,color:#0a3069"},
	{"script", "fill:#eaeef2,stroke:#57606a,color:#24292f"},
	{"terminal", "fill:#24292f,stroke:#8b949e,color:#ffffff"},
	{"open", "fill:#ffffff,stroke:#6e7781,color:#57606a,stroke-dasharray:4 3"},
	{"missing", "fill:#ffebe9,stroke:#cf222e,color:#82071e,stroke-dasharray:4 3"},
	{"policy", "stroke-width:4px"},
	{"idle", "fill:#f6f8fa,stroke:#b1bac4,color:#6e7781"},
	{"taken", "fill:#dafbe1,stroke:#2da44e,color:#0b4a1e"},
	{"here", "fill:#fff8c5,stroke:#9a6700,color:#4d2d00,stroke-width:4px"},
	{"waits", "fill:#fff8c5,stroke:#9a6700,color:#4d2d00,stroke-width:2px,stroke-dasharray:4 3"},
	{"failed", "fill:#cf222e,stroke:#82071e,color:#ffffff,stroke-width:4px"},
}

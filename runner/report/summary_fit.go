package report

// mostMarkdown is how long a summary may be. GitHub drops one of more than a
// mebibyte, all of it.
const mostMarkdown = 1_000_000 - 1

// diet is how much of a summary is left so that it fits.
type diet struct {
	text    int    // bytes of each text of an agent
	lines   int    // lines of each list of an agent
	agents  int    // sections of agents
	diagram bool   // the path
	rows    int    // of the table, from its end
	cut     string // what was cut, for the reader
}

// diets are tried in order. Agents' texts go first, then what says least. The
// last leaves nothing whose size depends on the run.
var diets = []diet{
	{mostText, mostRefused, mostActors, true, mostLast, ""},
	{2 << 10, 10, mostActors, true, mostLast, "agents' texts are cut at 2 KiB and their lists at 10 lines"},
	{512, 5, mostActors, true, mostLast, "agents' texts are cut at 512 bytes and their lists at 5 lines"},
	{128, 2, mostActors, true, mostLast, "agents' texts are cut at 128 bytes and their lists at 2 lines"},
	{512, 5, 200, true, mostLast, "only 200 agents are shown, with at most 512 bytes of each text and 5 lines of each list"},
	{128, 2, 100, true, mostLast, "only 100 agents are shown, with at most 128 bytes of each text and 2 lines of each list"},
	{0, 0, 0, true, mostLast, "no agents are shown"},
	{0, 0, 0, false, mostLast, "neither the path nor the agents are shown"},
	{0, 0, 0, false, 0, "the path, the last states and the agents are not shown"},
}

// markdown returns the fullest summary that fits.
func (s *Summary) markdown() string {
	text := ""
	for i, d := range diets {
		isLast := i == len(diets)-1
		if !isLast && s.tale.least(d) > mostMarkdown {
			continue
		}
		if text = s.compose(d); len(text) <= mostMarkdown {
			break
		}
	}
	return text
}

// least is a length that a summary surely exceeds on a diet, found without
// writing it.
func (t *tale) least(d diet) int {
	if len(t.actors) > d.agents {
		return 0
	}
	n := 0
	for _, a := range t.actors {
		n += min(a.fault.size()+a.result.size(), d.text)
		for _, t := range a.tries[max(0, len(a.tries)-d.lines):] {
			n += min(t.output.size(), d.text)
		}
		for _, text := range a.trouble[max(0, len(a.trouble)-d.lines):] {
			n += len(text)
		}
	}
	return n
}

func (p passage) size() int { return len(p.head) + len(p.tail) }

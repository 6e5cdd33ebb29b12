package main

import (
	"fmt"
	"slices"
	"strings"
)

// row is a benchmark whose figures are in the table.
type row struct {
	bench    string // its name without "Benchmark"
	pkg      string
	n, quick int // repetitions; none in a quick run if quick is 0
	what     string
	figures  []figure
	// iterations of a repetition, if not one: of benchmarks of a function, whose first
	// iteration is not like the others.
	iterations int
}

// figure is one of the figures that a benchmark reports.
type figure struct {
	unit, what string
	goal       float64 // at most; 0 if there is none
}

func (r row) command() string {
	if strings.HasSuffix(r.bench, "/earlier") {
		return ".ci/bench --against REV " + r.bench
	}
	return ".ci/bench " + r.bench
}

// wall and cpu are the ratios that each comparison reports.
func wall(goal float64) figure { return figure{"wall-ratio", "wall time", goal} }
func cpu(goal float64) figure  { return figure{"cpu-ratio", "CPU time", goal} }

// taken is the time that a benchmark of a function reports, with a goal in nanoseconds.
func taken(goal float64) []figure { return []figure{{"ns/op", "time", goal}} }

const program = "./cmd/raymond"

// rows are all figures of docs/performance.md, with their goals.
var rows = []row{
	{bench: "StartUp/floor", pkg: program, n: 61, quick: 21, what: "one script from start to end, against a bare Go program that starts bash and saves one file durably", figures: []figure{
		wall(0), cpu(0), {"wall-ms", "wall time of raymond", 8}, {"cpu-ms", "CPU time of raymond", 0},
		{"other-wall-ms", "wall time of the bare program", 0}, {"other-cpu-ms", "CPU time of the bare program", 0},
	}},
	{bench: "ScriptLoop/bare", pkg: program, n: 15, quick: 7, what: "a loop of 301 script states, against a bash loop that starts the same scripts", figures: []figure{cpu(1.25), wall(0)}},
	{bench: "StubAgents/bare", pkg: program, n: 5, quick: 1, what: "500 agents with a stub of their CLI, against a bash loop that starts the same stub", figures: []figure{cpu(1.05)}},
	{bench: "Forks/at-once", pkg: program, n: 7, quick: 2, what: "1,000 workers forked at once", figures: []figure{
		{"peak-MiB", "memory", 60}, {"written-MB", "bytes written", 5}, {"dirtied-MB", "bytes written to disk, in whole pages", 0},
	}},
	{bench: "Forks/one-by-one", pkg: program, n: 7, quick: 2, what: "1,000 workers forked one by one", figures: []figure{
		{"peak-MiB", "memory", 60}, {"written-MB", "bytes written", 5}, {"dirtied-MB", "bytes written to disk, in whole pages", 0},
	}},
	{bench: "CagedStates", pkg: program, n: 9, quick: 3, what: "starting a script in a cage, against starting it without", figures: more},
	{bench: "CageCommand", pkg: program, n: 61, quick: 21, what: "`raymond cage -- true` against `true`", figures: more},
	{bench: "Report", pkg: "./cmd/raymond/internal/runs", n: 3, quick: 1, what: "`raymond report` of a run of 1,000 agents with 50 MB of transcripts", figures: []figure{
		{"wall-ms", "wall time", 10_000}, {"cpu-ms", "CPU time", 0}, {"peak-MiB", "memory", 200}, {"page-MB", "size of the page", 15},
	}},
	{bench: "ColdStart", pkg: "./cmd/raymond/internal/acttest", n: 21, what: "a step of a script-only workflow under act, from its start to the first state", figures: []figure{
		{"over-ms", "time more than `raymond run` takes for it", 150}, {"act-ms", "time", 0}, {"bare-ms", "time of `raymond run`", 0}, {"step-ms", "time of the whole step, with the last checkpoint", 0},
	}},
	{bench: "SaveOfAnUnchangedTree", pkg: "./artifacts/workspace", n: 7, quick: 3, iterations: 10, what: "checking an unchanged workspace of 2,000 files for changes", figures: taken(0)},
	{bench: "Snapshot", pkg: "./artifacts/workspace", n: 7, quick: 3, iterations: 10, what: "a snapshot of 5,000 files after a prompt that changed 20, with 200 more that are not committed", figures: taken(80e6)},
	{bench: "StartUp/earlier", pkg: program, n: 61, quick: 21, what: "one script from start to end, against an earlier version", figures: pair},
	{bench: "ScriptLoop/earlier", pkg: program, n: 15, quick: 5, what: "a loop of 301 script states, against an earlier version", figures: pair},
	{bench: "StubAgents/earlier", pkg: program, n: 5, quick: 1, what: "500 agents with a stub of their CLI, against an earlier version", figures: pair},
}

var (
	more = []figure{{"more-wall-ms", "additional wall time", 3}, {"more-cpu-ms", "additional CPU time", 3}}
	pair = []figure{wall(0), cpu(0)}
)

// choose returns the rows of these names, or all: those that compare with an
// earlier version if there is one, else the others. A name stands for everything
// below it, too.
func choose(names []string, isAgainst bool) ([]row, error) {
	var chosen []row
	for _, r := range rows {
		if isAgainst == strings.HasSuffix(r.bench, "/earlier") && (len(names) == 0 || slices.ContainsFunc(names, r.isNamed)) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("rows named %q: there are none", names)
	}
	return chosen, nil
}

func (r row) isNamed(name string) bool {
	return r.bench == name || strings.HasPrefix(r.bench, name+"/")
}

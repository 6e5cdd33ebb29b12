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

const program = "./cmd/raymond"

// rows are all figures of docs/performance.md, with their goals.
var rows = []row{
	{"StartUp/floor", program, 61, 21, "one script from start to end, against a bare Go program that starts bash and saves one file durably", []figure{
		wall(0), cpu(0), {"wall-ms", "wall time of raymond", 8}, {"cpu-ms", "CPU time of raymond", 0},
		{"other-wall-ms", "wall time of the bare program", 0}, {"other-cpu-ms", "CPU time of the bare program", 0},
	}},
	{"StartUp/reference", program, 61, 21, "one script from start to end, against the reference", []figure{wall(1), cpu(1)}},
	{"ScriptLoop/bare", program, 15, 7, "a loop of 301 script states, against a bash loop that starts the same scripts", []figure{cpu(1.25), wall(0)}},
	{"ScriptLoop/reference", program, 15, 7, "a loop of 301 script states, against the reference, which syncs nothing", []figure{cpu(1), wall(1)}},
	{"StubAgents/bare", program, 5, 1, "500 agents with a stub of their CLI, against a bash loop that starts the same stub", []figure{cpu(1.05)}},
	{"StubAgents/reference", program, 5, 1, "500 agents with a stub of their CLI, against the reference", []figure{cpu(1)}},
	{"Forks/reference", program, 7, 2, "1,000 workers forked one by one, against the reference", []figure{cpu(1), wall(1)}},
	{"Forks/at-once", program, 7, 2, "1,000 workers forked at once", []figure{
		{"peak-MiB", "memory", 60}, {"written-MB", "bytes written", 5}, {"dirtied-MB", "bytes written to disk, in whole pages", 0},
	}},
	{"Forks/one-by-one", program, 7, 2, "1,000 workers forked one by one", []figure{
		{"peak-MiB", "memory", 60}, {"written-MB", "bytes written", 5}, {"dirtied-MB", "bytes written to disk, in whole pages", 0},
	}},
	{"CagedStates", program, 9, 3, "starting a script in a cage, against starting it without", more},
	{"CageCommand", program, 61, 21, "`raymond cage -- true` against `true`", more},
	{"Telling", program, 9, 3, "20 agents that say 300 lines each, with `--verbose` against `--quiet`", []figure{cpu(0), {"cpu-µs/line", "additional CPU time of a line", 0}}},
	{"Flood/agent/lines-of-1KiB--quiet", program, 3, 1, "200 MiB from an agent CLI in lines of 1 KiB", flood},
	{"Flood/agent/lines-of-1024KiB--quiet", program, 3, 1, "200 MiB from an agent CLI in lines of 1 MiB", flood},
	{"Flood/agent/lines-of-24576KiB--quiet", program, 3, 1, "200 MiB from an agent CLI in lines of 24 MiB", flood},
	{"Flood/stderr/lines-of-1KiB--verbose", program, 3, 1, "200 MiB on a script's stderr in lines of 1 KiB, with `--verbose`", flood},
	{"Flood/stderr/lines-of-1024KiB--verbose", program, 3, 0, "200 MiB on a script's stderr in lines of 1 MiB, with `--verbose`", flood},
	{"Flood/stderr/lines-of-24576KiB--verbose", program, 3, 0, "200 MiB on a script's stderr in lines of 24 MiB, with `--verbose`", flood},
	{"Report", "./cmd/raymond/internal/reports", 3, 1, "`raymond report` of a run of 1,000 agents with 50 MB of transcripts", []figure{
		{"wall-ms", "wall time", 10_000}, {"cpu-ms", "CPU time", 0}, {"peak-MiB", "memory", 200}, {"page-MB", "size of the page", 15},
	}},
	{"StartUp/earlier", program, 61, 21, "one script from start to end, against an earlier version", pair},
	{"ScriptLoop/earlier", program, 15, 5, "a loop of 301 script states, against an earlier version", pair},
	{"StubAgents/earlier", program, 5, 1, "500 agents with a stub of their CLI, against an earlier version", pair},
	{"Forks/earlier", program, 7, 2, "1,000 workers forked one by one, against an earlier version", pair},
}

var (
	more  = []figure{{"more-wall-ms", "additional wall time", 3}, {"more-cpu-ms", "additional CPU time", 3}}
	flood = []figure{{"peak-MiB", "memory", 64}}
	pair  = []figure{wall(0), cpu(0)}
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

package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// measured is what the output of benchmarks says.
type measured struct {
	figures map[string][]float64 // by benchmark and unit
	skipped map[string]string    // by benchmark: why
}

func key(bench, unit string) string { return bench + " " + unit }

var (
	processors = regexp.MustCompile(`-\d+$`)
	skips      = regexp.MustCompile(`(?m)^    \S+\.go:\d+: (.*)\n(?: {8}.*\n)*--- SKIP: Benchmark(\S+)$`)
)

func read(output []byte) (measured, error) {
	m := measured{figures: map[string][]float64{}, skipped: map[string]string{}}
	for _, found := range skips.FindAllSubmatch(output, -1) {
		m.skipped[string(found[2])] = string(found[1])
	}
	r := benchfmt.NewReader(bytes.NewReader(output), "output")
	for r.Scan() {
		switch line := r.Result().(type) {
		case *benchfmt.Result:
			name := processors.ReplaceAllString(line.Name.String(), "")
			for _, v := range line.Values {
				if v.OrigUnit != "" { // the reader has made B of MB
					v.Unit, v.Value = v.OrigUnit, v.OrigValue
				}
				m.figures[key(name, v.Unit)] = append(m.figures[key(name, v.Unit)], v.Value)
			}
		case *benchfmt.SyntaxError:
			return m, line
		}
	}
	return m, r.Err()
}

// printTable prints the rows beside what the output says of them.
func printTable(out io.Writer, rows []row, output []byte) error {
	m, err := read(output)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "| what | measured | goal | met | command |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		for i, f := range r.figures {
			what, command := r.what, "`"+r.command()+"`"
			if i > 0 {
				what, command = "the same", ""
			}
			got, verdict := m.tell(r, f)
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", what+": "+f.what, got, f.goalText(), verdict, command)
		}
	}
	_, err = fmt.Fprintf(out, "\n%s\n", explanation)
	return err
}

const explanation = "*Measured* is the median; in brackets its confidence interval of 95 %, or, with fewer than six repetitions, the smallest and the largest; " +
	"n is the number of repetitions. *Times* is the ratio within pairs that ran in turn."

// tell returns the measured figure in words, and whether it meets its goal.
func (m measured) tell(r row, f figure) (got, verdict string) {
	figures := m.figures[key(r.bench, f.unit)]
	if len(figures) == 0 {
		if why, ok := m.skipped[r.bench]; ok {
			return why, ""
		}
		return "not measured", ""
	}
	center, low, high := spread(figures)
	got = fmt.Sprintf("%s (%s to %s, n = %d)", f.text(center), f.number(low), f.number(high), len(figures))
	switch {
	case f.goal == 0:
		return got, ""
	case center <= f.goal:
		return got, "yes"
	}
	return got, "no"
}

// spread returns the median of some figures and its confidence interval, or their
// smallest and largest if they are too few for one.
func spread(figures []float64) (center, low, high float64) {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(figures, &benchmath.DefaultThresholds), 0.95)
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return s.Center, slices.Min(figures), slices.Max(figures)
	}
	return s.Center, s.Lo, s.Hi
}

// words are the endings of units, and what is printed behind their figures.
var words = []struct{ ending, word string }{
	{"-ratio", "times"}, {"-ms", "ms"}, {"-ms/turn", "ms"}, {"ns/op", "ms"}, {"-MiB", "MiB"}, {"-MB", "MB"}, {"-µs/line", "µs"},
}

func (f figure) word() string {
	for _, w := range words {
		if strings.HasSuffix(f.unit, w.ending) {
			return w.word
		}
	}
	return f.unit
}

func (f figure) text(v float64) string { return f.number(v) + " " + f.word() }

// scaled returns a figure in the unit of word.
func (f figure) scaled(v float64) float64 {
	if f.unit == "ns/op" {
		return v / 1e6
	}
	return v
}

// number prints two decimals of a ratio, and three digits or more of anything else.
func (f figure) number(v float64) string {
	v = f.scaled(v)
	switch {
	case strings.HasSuffix(f.unit, "-ratio"):
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// goalText returns the goal without needless digits, or nothing.
func (f figure) goalText() string {
	switch {
	case f.goal == 0:
		return ""
	case strings.HasSuffix(f.unit, "-ratio"):
		return f.text(f.goal)
	}
	return fmt.Sprintf("%g %s", f.scaled(f.goal), f.word())
}

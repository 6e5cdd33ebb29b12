//go:build linux

package main

import (
	"os"
	"slices"
	"testing"
	"time"
)

// Variables that .ci/bench sets to the paths of the raymond to measure, and of an earlier version of it.
const (
	programVar = "RAYMOND_BENCH_PROGRAM"
	earlierVar = "RAYMOND_BENCH_EARLIER"
)

// program returns the path of the raymond to measure. If the variable is not set, it skips the benchmark.
func program(b *testing.B) string {
	b.Helper()
	path := os.Getenv(programVar)
	if path == "" {
		b.Skip("not asked for: .ci/bench")
	}
	return path
}

// used is the time that a command and its child processes took.
type used struct{ wall, cpu time.Duration }

// series collects the figures of a benchmark by unit. Its method report reports the medians.
type series map[string][]float64

func (s series) add(unit string, figure float64) { s[unit] = append(s[unit], figure) }

// addTimes adds times in milliseconds. The names of their units begin with prefix.
func (s series) addTimes(prefix string, wall, cpu time.Duration) {
	s.add(prefix+"wall-ms", wall.Seconds()*1000)
	s.add(prefix+"cpu-ms", cpu.Seconds()*1000)
}

// report reports the medians. It hides the time per iteration, which has no meaning because an iteration
// runs several commands.
func (s series) report(b *testing.B) {
	for unit, figures := range s {
		slices.Sort(figures)
		b.ReportMetric(figures[len(figures)/2], unit)
	}
	b.ReportMetric(0, "ns/op")
}

// pairs is the number of measured pairs for each benchmark.
var pairs = map[string]int{}

// inTurn measures pairs of two commands that do the same work, in alternating order. It reports both
// times, and wall-ratio and cpu-ratio, which are our time divided by the other time of the same pair.
func inTurn(b *testing.B, ours, other func() used) {
	s := series{}
	for b.Loop() {
		var with, without used
		if pairs[b.Name()]++; pairs[b.Name()]%2 == 0 {
			with, without = ours(), other()
		} else {
			without, with = other(), ours()
		}
		s.add("wall-ratio", with.wall.Seconds()/without.wall.Seconds())
		s.add("cpu-ratio", with.cpu.Seconds()/without.cpu.Seconds())
		s.addTimes("", with.wall, with.cpu)
		s.addTimes("other-", without.wall, without.cpu)
	}
	s.report(b)
}

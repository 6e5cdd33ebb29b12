package reel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestReelKeepsBothEnds: of any lines, in any split between those that the caller
// shows and those that are kept, what comes out is the first and the last of
// them within the limits, and as many are said to be left out as are missing.
func TestReelKeepsBothEnds(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		r := Reel{
			First: Limit{Lines: rnd.IntN(8), Bytes: rnd.IntN(200)},
			Last:  Limit{Lines: rnd.IntN(8), Bytes: rnd.IntN(200)},
		}
		var all, out []string
		shown := rnd.IntN(2) == 0
		for n := range rnd.IntN(40) {
			line := strings.Repeat(string(rune('a'+n)), rnd.IntN(40))
			all = append(all, line)
			if !shown {
				r.Add(line)
			} else if r.Takes(line) {
				out = append(out, line)
			}
		}
		r.Each(func(line string) { out = append(out, line) })
		if want := wanted(r, all); !slices.Equal(out, want) {
			t.Fatalf("seed %d: %d lines within %+v and %+v\n got %q\nwant %q", seed, len(all), r.First, r.Last, out, want)
		}
		if kept := len(r.first) + len(r.last); r.IsEmpty() != (kept == 0) {
			t.Fatalf("seed %d: is empty: got %v with %d lines", seed, r.IsEmpty(), kept)
		}
	}
}

// wanted is what a reel with the limits of r makes of all lines.
func wanted(r Reel, all []string) []string {
	n, used := 0, 0
	for n < len(all) && used+len(all[n])+1 <= r.First.Bytes && (r.First.Lines == 0 || n < r.First.Lines) {
		used += len(all[n]) + 1
		n++
	}
	from, kept := len(all), 0
	for from > n {
		size, lines := kept+len(all[from-1])+1, len(all)-from+1
		if lines > 1 && (size > r.Last.Bytes || r.Last.Lines > 0 && lines > r.Last.Lines) {
			break
		}
		kept = size
		from--
	}
	out := slices.Clone(all[:n])
	if left := from - n; left == 1 {
		out = append(out, "… 1 line left out …")
	} else if left > 1 {
		out = append(out, fmt.Sprintf("… %d lines left out …", left))
	}
	return append(out, all[from:]...)
}

// TestWordsOfManyLines has the number of those left out.
func TestWordsOfManyLines(t *testing.T) {
	for n, want := range map[int]string{2: "2", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

// Command mutanttest breaks the program on purpose, in one place at a time, and says
// which of these changes no test notices. The changes, called mutants, are in the files
// of the folder table. Nothing is written to the checkout: go builds each mutant from
// the sources with a changed copy of one or more files (go help build, -overlay).
//
// It is run from the root of the repository; .ci/mutants does that.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"time"
)

func main() {
	list := flag.Bool("list", false, "print the names of the mutants, and what each does")
	pattern := flag.String("run", "", "try only the mutants whose names match this regular expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *pattern, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, pattern string, list bool) error {
	mutants, err := readTables()
	if err != nil {
		return err
	}
	if mutants, err = matching(mutants, pattern); err != nil {
		return err
	}
	if list {
		for _, m := range mutants {
			fmt.Fprintf(out, "%-32s %s\n", m.name, m.what)
		}
		return nil
	}
	temp, err := os.MkdirTemp("", "raymond-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	return tryAll(ctx, out, trial{root: ".", temp: temp}, mutants)
}

// tryAll prints a line for each mutant, and how many were caught. The error says that
// not all of them were.
func tryAll(ctx context.Context, out io.Writer, t trial, mutants []mutant) error {
	began := time.Now()
	unfit := t.failUnchanged(ctx, mutants)
	for _, pkg := range slices.Sorted(maps.Keys(unfit)) {
		fmt.Fprintf(out, "without any change: go test %s: %v\n", pkg, unfit[pkg])
	}
	fmt.Fprintf(out, "tried the tests without any change (%s)\n", time.Since(began).Round(time.Second))
	caught := 0
	for _, m := range mutants {
		started := time.Now()
		r := result{isInvalid, "its tests fail without any change"}
		if !m.needs(unfit) {
			r = t.try(ctx, m)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.verdict == isCaught {
			caught++
		}
		fmt.Fprintf(out, "%-12s %-32s %5.1fs  %s\n", r.verdict, m.name, time.Since(started).Seconds(), r.why)
	}
	fmt.Fprintf(out, "caught %d of %d in %s\n", caught, len(mutants), time.Since(began).Round(time.Second))
	if caught < len(mutants) {
		return fmt.Errorf("%d mutants were not caught", len(mutants)-caught)
	}
	return nil
}

// Command bench runs the benchmarks of docs/performance.md and prints a table of
// what they measured beside its goals. .ci/bench starts it and says how it is used.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	root, from, against string
	isQuick             bool
	repeat              int
	names               []string
}

func parse(args []string) (settings, error) {
	var s settings
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&s.root, "root", ".", "the checkout")
	f.StringVar(&s.from, "from", "", "print the table of a `FILE` with the output of earlier runs, and run nothing")
	f.StringVar(&s.against, "against", "", "compare with the version `REV` of this repository")
	f.BoolVar(&s.isQuick, "quick", false, "few repetitions: some minutes for everything")
	f.IntVar(&s.repeat, "n", 0, "the number of repetitions, if it is not to be that of the row")
	if err := f.Parse(args); err != nil {
		return settings{}, err
	}
	s.names = f.Args()
	return s, nil
}

// count returns how often the benchmark of a row is run.
func (s settings) count(r row) int {
	switch {
	case s.repeat > 0:
		return s.repeat
	case s.isQuick:
		return r.quick
	}
	return r.n
}

func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	chosen, err := choose(s.names, s.against != "")
	if err != nil {
		return err
	}
	if s.from != "" {
		data, err := os.ReadFile(s.from)
		if err != nil {
			return err
		}
		return printTable(out, chosen, data)
	}
	chosen = slices.DeleteFunc(chosen, func(r row) bool { return s.count(r) == 0 })
	var output bytes.Buffer
	runErr := measure(ctx, s, chosen, io.MultiWriter(out, &output))
	fmt.Fprintln(out)
	return errors.Join(runErr, printTable(out, chosen, output.Bytes()), summarize(chosen, output.Bytes()))
}

// summarize adds the table to the summary of the step, in a job.
func summarize(chosen []row, output []byte) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintln(f, "## Performance")
	fmt.Fprintln(f)
	return printTable(f, chosen, output)
}

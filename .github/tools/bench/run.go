package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// bench is one start of this command: a checkout, and a folder for what is built.
type bench struct {
	root, dir string
	env       []string // of the benchmarks
}

// measure runs the benchmarks of the rows and copies what they print. It goes on
// after a benchmark that fails.
func measure(ctx context.Context, s settings, chosen []row, out io.Writer) error {
	root, err := filepath.Abs(s.root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "raymond-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{root: root, dir: dir, env: os.Environ()}
	if err := b.build(ctx, s, chosen); err != nil {
		return err
	}
	var failed error
	for _, r := range chosen {
		failed = errors.Join(failed, b.run(ctx, r, s.count(r), out))
	}
	return failed
}

// build builds everything before anything is measured.
func (b *bench) build(ctx context.Context, s settings, chosen []row) error {
	program := filepath.Join(b.dir, "raymond")
	if err := b.buildIn(ctx, b.root, program); err != nil {
		return err
	}
	b.env = append(b.env, "RAYMOND_BENCH_PROGRAM="+program)
	for _, r := range chosen {
		if err := b.buildTests(ctx, r.pkg); err != nil {
			return err
		}
	}
	if s.against != "" {
		return b.buildEarlier(ctx, s.against)
	}
	return nil
}

// buildIn builds raymond as a release does, from the sources in a folder.
func (b *bench) buildIn(ctx context.Context, folder, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "./cmd/raymond")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	return output(cmd)
}

// tests returns the path of the test program of a package.
func (b *bench) tests(pkg string) string {
	return filepath.Join(b.dir, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-")+".test")
}

func (b *bench) buildTests(ctx context.Context, pkg string) error {
	if _, err := os.Stat(b.tests(pkg)); err == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-tags=world", "-vet=off", "-o", b.tests(pkg), pkg)
	cmd.Dir = b.root
	return output(cmd)
}

// buildEarlier builds a version of this repository.
func (b *bench) buildEarlier(ctx context.Context, rev string) error {
	sources, archive := filepath.Join(b.dir, "sources"), filepath.Join(b.dir, "sources.tar")
	if err := os.Mkdir(sources, 0o755); err != nil {
		return err
	}
	git := exec.CommandContext(ctx, "git", "-C", b.root, "archive", "-o", archive, rev)
	if err := output(git); err != nil {
		return err
	}
	if err := output(exec.CommandContext(ctx, "tar", "-xf", archive, "-C", sources)); err != nil {
		return err
	}
	program := filepath.Join(b.dir, "earlier")
	if err := b.buildIn(ctx, sources, program); err != nil {
		return err
	}
	b.env = append(b.env, "RAYMOND_BENCH_EARLIER="+program)
	return nil
}

// output runs a command; its error has what the command printed.
func output(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// run runs the benchmark of a row n times, so that every repetition is a line of
// its own.
func (b *bench) run(ctx context.Context, r row, n int, out io.Writer) error {
	cmd := exec.CommandContext(ctx, b.tests(r.pkg), "-test.run=^$", "-test.bench="+pattern(r.bench),
		fmt.Sprintf("-test.benchtime=%dx", max(1, r.iterations)), "-test.count="+strconv.Itoa(n), "-test.v", "-test.timeout=1h")
	cmd.Dir, cmd.Env = filepath.Join(b.root, r.pkg), b.env
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", r.bench, err)
	}
	return nil
}

// pattern returns the expression that only the benchmark of this name matches.
func pattern(name string) string {
	return "^Benchmark" + strings.ReplaceAll(name, "/", "$/^") + "$"
}

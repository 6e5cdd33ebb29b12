package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// verdict is what became of a mutant.
type verdict string

// The verdicts. All but the first are failures.
const (
	isCaught  verdict = "caught"
	isMissed  verdict = "NOT CAUGHT"
	isInvalid verdict = "INVALID"
)

// result is a verdict with what led to it: the tests that failed, or what is wrong with
// the mutant.
type result struct {
	verdict verdict
	why     string
}

// trial runs tests on changed sources.
type trial struct {
	root string // of the repository
	temp string // a folder for the changed files
}

// testWithin is how long the tests of a mutant may take in one package, and buildWithin
// how much longer go may take to build them.
const (
	testWithin  = 2 * time.Minute
	buildWithin = 10 * time.Minute
)

// failUnchanged runs the tests of all mutants without any change, and returns the errors
// of the packages where they fail, twice: such tests show nothing.
func (t trial) failUnchanged(ctx context.Context, mutants []mutant) map[string]error {
	unfit := map[string]error{}
	for _, r := range together(mutants) {
		out, err := t.test(ctx, r, "")
		if err != nil {
			out, err = t.test(ctx, r, "") // on a busy machine one may have been too slow
		}
		if err != nil {
			unfit[r.pkg] = fmt.Errorf("%w\n%s", err, out)
		}
	}
	return unfit
}

// needs reports whether a mutant has tests in one of some packages.
func (m *mutant) needs(packages map[string]error) bool {
	return slices.ContainsFunc(m.tests, func(r testRun) bool { return packages[r.pkg] != nil })
}

// together returns the tests of all mutants, once for each package.
func together(mutants []mutant) []testRun {
	names := map[string][]string{}
	for _, m := range mutants {
		for _, r := range m.tests {
			names[r.pkg] = append(names[r.pkg], r.names...)
		}
	}
	var all []testRun
	for pkg, list := range names {
		slices.Sort(list)
		all = append(all, testRun{pkg, slices.Compact(list)})
	}
	slices.SortFunc(all, func(a, b testRun) int { return strings.Compare(a.pkg, b.pkg) })
	return all
}

// try applies a mutant and runs its tests, of which one must fail.
func (t trial) try(ctx context.Context, m mutant) result {
	changed, err := m.apply(t.root)
	if err != nil {
		return result{isInvalid, err.Error()}
	}
	overlay, err := t.overlay(changed)
	if err != nil {
		return result{isInvalid, err.Error()}
	}
	for file := range changed {
		if out, err := t.command(ctx, overlay, "build", "./"+filepath.ToSlash(filepath.Dir(file))).CombinedOutput(); err != nil {
			return result{isInvalid, fmt.Sprintf("it can't be built: %v\n%s", err, out)}
		}
	}
	for _, r := range m.tests {
		out, err := t.test(ctx, r, overlay)
		if err == nil {
			continue
		}
		if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) {
			return result{isInvalid, "its tests can't be built\n" + string(out)}
		}
		return result{isCaught, failed(out)}
	}
	return result{isMissed, m.what}
}

// overlay writes the changed files and the list that go reads, and returns its path.
func (t trial) overlay(changed map[string]string) (string, error) {
	root, err := filepath.Abs(t.root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range changed {
		path := filepath.Join(t.temp, fmt.Sprintf("%d-%s", len(replace), filepath.Base(file)))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(t.temp, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}

// test runs tests of a package. The error says that one failed, or that there is none.
func (t trial) test(ctx context.Context, r testRun, overlay string) ([]byte, error) {
	pattern := "^(" + strings.Join(r.names, "|") + ")$"
	ctx, cancel := context.WithTimeout(ctx, testWithin+buildWithin)
	defer cancel()
	out, err := t.command(ctx, overlay, "test", "-count=1", "-vet=off", "-timeout", testWithin.String(), "-run", pattern, r.pkg).CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("[no tests to run]")) {
		err = fmt.Errorf("no test of %s is named as in %s", r.pkg, pattern)
	}
	return out, err
}

// command is go with the changed sources; "" for no change. The flag is in the
// environment, so that it also holds for programs that tests build.
func (t trial) command(ctx context.Context, overlay string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = t.root
	cmd.WaitDelay = time.Minute // for what tests have left behind; on a busy machine output is read late
	if overlay != "" {
		cmd.Env = append(os.Environ(), strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	return cmd
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// failed names the tests that failed.
func failed(out []byte) string {
	var names []string
	for _, m := range failure.FindAllSubmatch(out, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) == 0 {
		return "the tests ended early"
	}
	return strings.Join(names, " ")
}

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table that testdata/output.txt gives")

// TestTable: each row of the output is in the table with its median and spread, its
// goal, and whether that is met; one that was skipped says why.
func TestTable(t *testing.T) {
	var got bytes.Buffer
	if err := run(t.Context(), []string{"-from", "testdata/output.txt", "StartUp", "ScriptLoop", "Forks"}, &got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/table.md", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/table.md")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("table of testdata/output.txt: got\n%s\nwant\n%s", &got, want)
	}
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		f    figure
		want string
	}{
		{wall(1.25), "1.25 times"}, {cpu(1), "1.00 times"}, {figure{"wall-ms", "", 10_000}, "10000 ms"}, {taken(80e6)[0], "80 ms"},
		{figure{"peak-MiB", "", 64}, "64 MiB"}, {figure{"written-MB", "", 0}, ""},
	} {
		if got := c.f.goalText(); got != c.want {
			t.Errorf("goal %v in %s: got %q, want %q", c.f.goal, c.f.unit, got, c.want)
		}
	}
}

// TestSummary: in a job, the table is added to what the summary has already.
func TestSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary")
	if err := os.WriteFile(path, []byte("before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GITHUB_STEP_SUMMARY", path)
	if err := summarize(rows[:1], []byte("BenchmarkStartUp/floor-2 1 2.5 wall-ratio\n")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n## Performance\n\n| what |", "| 2.50 times (2.50 to 2.50, n = 1) |"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("summary: got\n%s\nwant it to contain %q", got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	names := func(chosen []row) string {
		var all []string
		for _, r := range chosen {
			all = append(all, r.bench)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		args    string
		against bool
		want    string
	}{
		{"StartUp", false, "StartUp/floor StartUp/reference"},
		{"StartUp/floor", false, "StartUp/floor"},
		{"StartUp ScriptLoop", true, "StartUp/earlier ScriptLoop/earlier"},
		{"StartUp/earlier", false, ""},
		{"Start", false, ""},
	} {
		chosen, err := choose(strings.Fields(c.args), c.against)
		if names(chosen) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("rows named %q, against an earlier version %v: got %q, %v, want %q", c.args, c.against, names(chosen), err, c.want)
		}
	}
	if all, err := choose(nil, false); err != nil || len(all) < 10 {
		t.Errorf("rows without a name: got %q, %v, want more than ten", names(all), err)
	}
}

// TestBenchmarksAreThere: each row names a benchmark of its package, no two the same.
func TestBenchmarksAreThere(t *testing.T) {
	var seen []string
	for _, r := range rows {
		if slices.Contains(seen, r.bench) {
			t.Errorf("row %s is there twice", r.bench)
		}
		seen = append(seen, r.bench)
		files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(r.pkg), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		base, _, _ := strings.Cut(r.bench, "/")
		function := regexp.MustCompile(`(?m)^func Benchmark` + base + `\(`)
		if !slices.ContainsFunc(files, func(name string) bool {
			data, err := os.ReadFile(name)
			return err == nil && function.Match(data)
		}) {
			t.Errorf("row %s: no file of %s has %s", r.bench, r.pkg, function)
		}
	}
}

// TestLastLine: of what the go command prints when a module can't be had, the last
// line has the cause.
func TestLastLine(t *testing.T) {
	got := lastLine("go: m@v: invalid version: 403 Forbidden\n\tserver response: This module version is not available.\n")
	if want := "This module version is not available."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

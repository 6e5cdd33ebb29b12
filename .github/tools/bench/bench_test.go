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
	if err := run(t.Context(), []string{"-from", "testdata/output.txt", "StartUp", "ScriptLoop", "StubAgents", "Forks"}, &got); err != nil {
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

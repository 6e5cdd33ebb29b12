package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// built is what a linker could have written.
func built() *debug.BuildInfo {
	return &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "example.com/main", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.0.0+incompatible", Sum: "h1:a"},
			{Path: "example.com/b", Version: "v2.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v2.0.1", Sum: "h1:fork"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}},
	}
}

func TestListHasWhatIsInTheProgram(t *testing.T) {
	b := list(built(), "v1.2.3", "abc")
	var got []string
	for _, c := range b.Components {
		got = append(got, c.PURL)
	}
	want := "pkg:golang/example.com/a@v1.0.0%2Bincompatible pkg:golang/example.com/fork@v2.0.1 pkg:golang/stdlib@1.26.8"
	if strings.Join(got, " ") != want {
		t.Errorf("components: got %q, want %q", got, want)
	}
	if d := b.Dependencies; len(d) != 1 || d[0].Ref != b.Metadata.Component.Ref || strings.Join(d[0].DependsOn, " ") != want {
		t.Errorf("dependencies: got %+v, want all of them below the program", d)
	}
	if m := b.Metadata.Component; m.Version != "v1.2.3" || m.Type != "application" || m.Hashes[0] != (hash{"SHA-256", "abc"}) {
		t.Errorf("program: got %+v, want the version and the hash that were given", m)
	}
}

// TestListsAreTheSameEachTime: no time, no number of its own.
func TestListsAreTheSameEachTime(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := run(w, "v1.2.3", self); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() || !json.Valid(first.Bytes()) {
		t.Errorf("lists of one program: got\n%s\nand\n%s\nwant the same JSON", &first, &second)
	}
}

func TestWhatGoDidNotBuildHasNoList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(&out, "v1.2.3", path); err == nil || out.Len() > 0 {
		t.Errorf("list of %s: got %q, %v, want an error and nothing else", path, &out, err)
	}
}

package lint_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/lint"
)

var update = flag.Bool("update", false, "rewrite what the files of testdata want")

// flow is a workflow of testdata: its files, and those that say how it is checked.
type flow struct {
	fstest.MapFS
	said    map[string]string
	options lint.Options
}

// read reads one. Its last file is what is wanted.
func read(t *testing.T, path string) (flow, *txtar.Archive) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := flow{MapFS: fstest.MapFS{}, said: map[string]string{}}
	escapes := strings.NewReplacer("<CR>", "\r", "<BOM>", "\ufeff", "<FF>", "\xff", "<NUL>", "\x00")
	for _, file := range archive.Files {
		text, link := strings.CutPrefix(string(file.Data), "LINK ")
		switch {
		case slices.Contains([]string{"entry", "platform", "meta", "agent", "loop", "want"}, file.Name):
			f.said[file.Name] = text
		case link:
			f.MapFS[file.Name] = &fstest.MapFile{Data: []byte(strings.TrimSpace(text)), Mode: fs.ModeSymlink}
		default:
			f.MapFS[file.Name] = &fstest.MapFile{Data: []byte(escapes.Replace(text))}
		}
	}
	_, isLoop := f.said["loop"]
	f.options = lint.Options{
		LoadOptions: protocol.LoadOptions{Entry: strings.TrimSpace(f.said["entry"]), Platform: protocol.Unix},
		Meta:        strings.Fields(f.said["meta"]), Backend: strings.TrimSpace(f.said["agent"]), Loop: isLoop,
	}
	return f, archive
}

func paths(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	return paths
}

func (f flow) found(platform protocol.Platform) (text string, found []lint.Finding) {
	f.options.Platform = platform
	found = lint.Workflow(f.MapFS, f.options)
	for _, one := range found {
		text += fmt.Sprintf("%s [%s] %v\n", one.Severity, one.Code, one.Problem)
	}
	return text, found
}

// TestFindings keeps what is found in folders of states. A platform of "unix
// windows" checks both.
func TestFindings(t *testing.T) {
	for _, path := range paths(t, "testdata/*.txtar") {
		f, archive := read(t, path)
		got := ""
		platforms := strings.Fields(f.said["platform"])
		for _, p := range append(platforms, "unix")[:max(1, len(platforms))] {
			text, _ := f.found(protocol.Platform(p))
			if len(platforms) > 1 {
				text = "on " + p + "\n" + text
			}
			got += text
		}
		want := &archive.Files[len(archive.Files)-1]
		switch {
		case got == string(want.Data):
		case !*update:
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", path, got, want.Data)
		default:
			want.Data = []byte(got)
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWhatForbidsAStartIsAnError of lint, in all workflows that package protocol keeps.
func TestWhatForbidsAStartIsAnError(t *testing.T) {
	for _, path := range paths(t, "../testdata/load/*.txtar") {
		f, _ := read(t, path)
		if p := strings.TrimSpace(f.said["platform"]); p != "" {
			f.options.Platform = protocol.Platform(p)
		}
		_, problems := protocol.Load(f.MapFS, f.options.LoadOptions)
		text, found := f.found(f.options.Platform)
		for _, p := range problems {
			if !slices.ContainsFunc(found, func(f lint.Finding) bool {
				return f.Severity == lint.Error && f.File == p.File && f.Code == p.Code && f.Message == p.Message
			}) {
				t.Errorf("%s: problem of a start: %v\ngot:\n%swant: it is among the errors", path, p, text)
			}
		}
	}
}

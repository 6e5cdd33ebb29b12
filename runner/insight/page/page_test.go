package page

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var pages = flag.String("pages", "", "write the pages of the fixtures to this folder, for a person to look at")

func written(t testing.TB, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, fixtures[name]()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// writePages writes the pages of all fixtures to a folder.
func writePages(t *testing.T, dir string) {
	t.Helper()
	for name := range fixtures {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), written(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := WriteIndex(&b, manyRuns()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFixturesAreWritten(t *testing.T) {
	dir := *pages
	if dir == "" {
		dir = t.TempDir()
	}
	writePages(t, dir)
}

// TestTimesAreToldInOneWay, those of attempts and their commands, too.
func TestTimesAreToldInOneWay(t *testing.T) {
	page := string(written(t, "five"))
	for _, want := range []string{"<i>1 min 35 s, $0.31</i>", "passed, 0.1 s", "exit 1, 2.2 s"} {
		if !strings.Contains(page, want) {
			t.Errorf("times of attempts: got none of %q", want)
		}
	}
}

package page

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
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

func TestFixturesAreWritten(t *testing.T) {
	for name := range fixtures {
		data := written(t, name)
		t.Logf("%s: %d bytes", name, len(data))
		if *pages == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(*pages, name+".html"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

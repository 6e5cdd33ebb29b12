package protocol

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// entry is one entry of an archive that a test makes.
type entry struct {
	name, text string
	change     func(*zip.FileHeader)
}

func makeZip(t testing.TB, entries ...entry) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestSpeed) })
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.change != nil {
			e.change(h)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(e.name, "/") {
			if _, err := io.WriteString(f, e.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func plain(names ...string) []entry {
	entries := make([]entry, len(names))
	for i, n := range names {
		entries[i] = entry{name: n, text: "text of " + n}
	}
	return entries
}

func openBytes(data []byte) (fs.FS, []Problem) {
	return OpenZip(bytes.NewReader(data), int64(len(data)))
}

func TestOpenZipLayouts(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string // the files, or what the problem says
	}{
		{[]string{"START.md", "b.txt"}, "START.md b.txt"},
		{[]string{"flow/START.md", "flow/b.txt"}, "START.md b.txt"},
		{[]string{"flow/", "flow/START.md", "flow/sub/", "__MACOSX/", "__MACOSX/flow/._START.md", ".DS_Store", "flow/.DS_Store"}, "START.md"},
		{nil, "! the archive is empty"},
		{[]string{"flow/"}, "! the archive is empty"},
		{[]string{".DS_Store", "__MACOSX/x"}, "! the archive is empty"},
		{[]string{"a/START.md", "b/C.md"}, `! entry "b/C.md" of the archive does not lie beside "a/START.md"`},
		{[]string{"START.md", "b/C.md"}, `! entry "b/C.md" of the archive does not lie beside "START.md"`},
		{[]string{"b/C.md", "START.md"}, `! entry "START.md" of the archive does not lie beside "b/C.md"`},
		{[]string{"a/START.md", "a/b/C.md"}, `! entry "a/b/C.md" of the archive is nested too deep`},
		{[]string{"a/b/START.md"}, `! entry "a/b/START.md" of the archive is nested too deep`},
		{[]string{"START.md", "START.md"}, `! entry "START.md" of the archive is there twice`},
		{[]string{"a/START.md", "a/START.md"}, `! entry "a/START.md" of the archive is there twice`},
		{[]string{"../START.md"}, `! entry "../START.md" of the archive has a name that is no path`},
		{[]string{"/START.md"}, `! entry "/START.md" of the archive has an absolute name`},
	} {
		fsys, problems := openBytes(makeZip(t, plain(c.names...)...))
		if got := zipSummary(t, fsys, problems); got != c.want && (c.want[0] != '!' || !strings.HasPrefix(got, c.want)) {
			t.Errorf("entries %q\ngot  %s\nwant %s", c.names, got, c.want)
		}
	}
}

// zipSummary lists the files, or the problems, and never both.
func zipSummary(t *testing.T, fsys fs.FS, problems []Problem) string {
	if len(problems) > 0 {
		if fsys != nil {
			t.Error("a file system beside problems")
		}
		return "! " + fmt.Sprint(problems[0])
	}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestOpenZipRefusesEntries(t *testing.T) {
	header := func(change func(*zip.FileHeader)) []entry { return []entry{{"START.md", "x", change}} }
	big := strings.Repeat("x", maxEntry)
	var many []entry
	for i := range maxEntries + 1 {
		many = append(many, entry{name: fmt.Sprintf("%d.md", i)})
	}
	var large []entry
	for i := range maxTotal/maxEntry + 1 {
		large = append(large, entry{name: fmt.Sprintf("%d.md", i), text: big})
	}
	for name, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"link":       {header(func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }), "is not a regular file"},
		"pipe":       {header(func(h *zip.FileHeader) { h.SetMode(fs.ModeNamedPipe | 0o666) }), "is not a regular file"},
		"device":     {header(func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o666) }), "is not a regular file"},
		"entry size": {[]entry{{name: "START.md", text: big + "x"}}, "unpacks to more than 1 MiB"},
		"total":      {large, `entry "64.md" of the archive brings the archive over 64 MiB`},
		"count":      {many, `entry "1000.md" of the archive is one too many`},
	} {
		_, problems := openBytes(makeZip(t, c.entries...))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, c.want) || !strings.Contains(problems[0].Message, ".md") {
			t.Errorf("%s\ngot  %v\nwant %s", name, problems, c.want)
		}
	}
	for name, entries := range map[string][]entry{"count": many[1:], "entry": {{name: "START.md", text: big}}} {
		if _, problems := openBytes(makeZip(t, entries...)); problems != nil {
			t.Errorf("%s at the limit\ngot  %v\nwant no problem", name, problems)
		}
	}
}

// TestZipFilesAreReadOnlyAndWhole: one that can't be unpacked refuses the archive.
func TestZipFilesAreReadOnlyAndWhole(t *testing.T) {
	data := makeZip(t, entry{"flow/START.sh", "echo\n", func(h *zip.FileHeader) { h.Method = zip.Store; h.SetMode(0o755) }})
	fsys, problems := openBytes(data)
	if problems != nil {
		t.Fatal(problems)
	}
	text, err := fs.ReadFile(fsys, "START.sh")
	info, _ := fs.Stat(fsys, "START.sh")
	if err != nil || string(text) != "echo\n" || info.Mode() != 0o555 {
		t.Errorf("got %q with %v (%v), want it as it was, with mode 0555", text, info, err)
	}
	if _, problems := openBytes(bytes.Replace(data, []byte("echo"), []byte("exit"), 1)); len(problems) != 1 {
		t.Errorf("a file with another checksum: got %v, want a problem", problems)
	}
}

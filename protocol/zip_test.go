package protocol

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
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
	long := strings.Repeat("x", 300)
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
		{[]string{"a/../START.md"}, `! entry "a/../START.md" of the archive has a name that is no path`},
		{[]string{"./START.md"}, `! entry "./START.md" of the archive has a name that is no path`},
		{[]string{"a//START.md"}, `! entry "a//START.md" of the archive has a name that is no path`},
		{[]string{".."}, `! entry ".." of the archive has a name that is no path`},
		{[]string{"/START.md"}, `! entry "/START.md" of the archive has an absolute name`},
		{[]string{"C:START.md"}, `! entry "C:START.md" of the archive has a colon`},
		{[]string{`a\START.md`}, `! entry "a\\START.md" of the archive has a backslash`},
		{[]string{"START.md\x00.txt"}, `! entry "START.md\x00.txt" of the archive has a control character`},
		{[]string{"\xff.md"}, `! entry "\xff.md" of the archive has a name that is no UTF-8`},
		{[]string{"a/b/" + long}, "! entry \"a/b/" + long[:76] + "\" of the archive has a name of more than 255 bytes"},
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
	for name, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"link":       {header(func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }), "is not a regular file"},
		"pipe":       {header(func(h *zip.FileHeader) { h.SetMode(fs.ModeNamedPipe | 0o666) }), "is not a regular file"},
		"device":     {header(func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o666) }), "is not a regular file"},
		"entry size": {[]entry{{name: "START.md", text: big + "x"}}, "unpacks to more than 1 MiB"},
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

// TestOpenZipRefusesTotal keeps the limit on all entries together. The entries
// share one compressed text, so that only the reading takes time.
func TestOpenZipRefusesTotal(t *testing.T) {
	one := makeZip(t, entry{name: "START.md", text: strings.Repeat("x", maxEntry)})
	r, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range maxTotal/maxEntry + 1 {
		h := r.File[0].FileHeader
		h.Name = fmt.Sprintf("%d.md", i)
		to, err := w.CreateRaw(&h)
		if err != nil {
			t.Fatal(err)
		}
		from, err := r.File[0].OpenRaw()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, problems := openBytes(b.Bytes())
	want := `entry "64.md" of the archive brings the archive over 64 MiB`
	if len(problems) != 1 || problems[0].Message != want {
		t.Errorf("65 entries of 1 MiB\ngot  %v\nwant %s", problems, want)
	}
}

// TestZipFilesComeBack is the round trip, and what fs promises.
func TestZipFilesComeBack(t *testing.T) {
	want := map[string]string{"START.md": "go\n", "empty.md": "", "run.sh": "echo\n", "data.bin": "\x00\xff"}
	var entries []entry
	for name, text := range want {
		entries = append(entries, entry{"flow/" + name, text, func(h *zip.FileHeader) { h.SetMode(0o755) }})
	}
	fsys, problems := openBytes(makeZip(t, entries...))
	if problems != nil {
		t.Fatal(problems)
	}
	if err := fstest.TestFS(fsys, slices.Collect(maps.Keys(want))...); err != nil {
		t.Error(err)
	}
	for name, text := range want {
		got, err := fs.ReadFile(fsys, name)
		info, _ := fs.Stat(fsys, name)
		if err != nil || string(got) != text || info.Mode() != 0o555 {
			t.Errorf("file %s\ngot  %q %v %v\nwant %q, mode 0555", name, got, info, err, text)
		}
	}
	w, problems := Load(fsys, LoadOptions{Platform: Unix})
	if w.Entry() != "START.md" || problems != nil {
		t.Errorf("load of the archive\ngot  %q %v\nwant START.md", w.Entry(), problems)
	}
}

package protocol

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
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
		{[]string{"START.md", "START.md"}, `! entry "START.md" of the archive stands there twice`},
		{[]string{"a/START.md", "a/START.md"}, `! entry "a/START.md" of the archive stands there twice`},
		{[]string{"../START.md"}, `! entry "../START.md" of the archive has a name that is no path`},
		{[]string{"a/../START.md"}, `! entry "a/../START.md" of the archive has a name that is no path`},
		{[]string{"./START.md"}, `! entry "./START.md" of the archive has a name that is no path`},
		{[]string{"a//START.md"}, `! entry "a//START.md" of the archive has a name that is no path`},
		{[]string{".."}, `! entry ".." of the archive has a name that is no path`},
		{[]string{"/START.md"}, `! entry "/START.md" of the archive has an absolute name`},
		{[]string{"C:START.md"}, `! entry "C:START.md" of the archive has an absolute name`},
		{[]string{`a\START.md`}, `! entry "a\\START.md" of the archive has a backslash`},
		{[]string{"START.md\x00.txt"}, `! entry "START.md\x00.txt" of the archive has a NUL`},
		{[]string{"\xff.md"}, `! entry "\xff.md" of the archive has a name that is no path`},
		{[]string{"a/b/" + long}, "! entry \"a/b/" + long[:76] + "\"… of the archive is nested too deep"},
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
		"entry size": {[]entry{{name: "START.md", text: big + "x"}}, "is over 1 MiB"},
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

// patch sets bytes of the one central header of an archive.
func patch(data []byte, offset int, value ...byte) []byte {
	data = slices.Clone(data)
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	copy(data[at+offset:], value)
	return data
}

// TestOpenZipDistrustsHeaders breaks archives as only an attacker would.
func TestOpenZipDistrustsHeaders(t *testing.T) {
	good := makeZip(t, entry{name: "START.md", text: strings.Repeat("x", 2<<20)})
	small := makeZip(t, entry{name: "START.md", text: "hello"})
	size := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"small size for much data": {patch(good, 24, size(10)...), "can't be read"},
		"large size":               {patch(small, 24, size(1<<30)...), "can't be read"},
		"checksum":                 {patch(small, 16, size(1)...), "can't be read"},
		"encrypted":                {patch(small, 8, 1, 0), "is encrypted"},
		"strongly encrypted":       {patch(small, 8, 1<<6, 0), "is encrypted"},
		"method":                   {patch(small, 10, 12, 0), "unknown method 12"},
		"cut":                      {small[:len(small)-5], "read the archive"},
		"no archive":               {[]byte("hello"), "read the archive"},
		"nothing":                  {nil, "read the archive"},
	} {
		_, problems := openBytes(c.data)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", name, problems, c.want)
		}
	}
}

// endless is an archive whose list of entries never ends; it counts what is
// read of it.
type endless struct {
	tail []byte
	size int64
	read int64
}

func (e *endless) ReadAt(p []byte, at int64) (int, error) {
	e.read += int64(len(p))
	header := make([]byte, 46)
	copy(header, "PK\x01\x02")
	for i := range p {
		pos := at + int64(i)
		if from := e.size - int64(len(e.tail)); pos >= from {
			p[i] = e.tail[pos-from]
		} else {
			p[i] = header[pos%46]
		}
	}
	return len(p), nil
}

// TestOpenZipReadsLittle keeps that a huge list of entries is not read whole.
func TestOpenZipReadsLittle(t *testing.T) {
	const entries = 10_000_000
	tail := binary.LittleEndian.AppendUint32(nil, 0x06054b50)
	for _, v := range []uint16{0, 0, entries & 0xffff, entries & 0xffff} {
		tail = binary.LittleEndian.AppendUint16(tail, v)
	}
	tail = binary.LittleEndian.AppendUint32(tail, entries*46)
	tail = binary.LittleEndian.AppendUint32(tail, 0)
	tail = binary.LittleEndian.AppendUint16(tail, 0)
	e := &endless{tail: tail, size: entries*46 + int64(len(tail))}
	_, problems := OpenZip(e, e.size)
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "list of entries") || e.read > maxDirectory {
		t.Errorf("archive of %d entries\ngot  %v after %d bytes\nwant a refusal within %d", entries, problems, e.read, maxDirectory)
	}
}

// TestOpenZipRefusesBombs keeps that an archive is not inflated much beyond the
// limit of an entry, whatever is in it.
func TestOpenZipRefusesBombs(t *testing.T) {
	data := makeZip(t, entry{name: "START.md", text: strings.Repeat("x", 24<<20)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, problems := openBytes(data)
	runtime.ReadMemStats(&after)
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "is over 1 MiB") {
		t.Errorf("a bomb of %d bytes\ngot  %v\nwant a refusal for its size", len(data), problems)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("a bomb of %d bytes\ngot  %d bytes allocated\nwant at most 16 MiB", len(data), used)
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

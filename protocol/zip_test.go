package protocol

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// makeZip returns a zip archive of files with the given names, all with the same text.
func makeZip(t testing.TB, text string, names ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		h := &zip.FileHeader{Name: name}
		h.SetMode(0o755)
		f, err := w.CreateHeader(h)
		if err == nil && !strings.HasSuffix(name, "/") {
			_, err = io.WriteString(f, text)
		}
		assert.NilError(t, err)
	}
	assert.NilError(t, w.Close())
	return b.Bytes()
}

// openBytes opens a zip archive in memory.
func openBytes(data []byte) (fs.FS, []Problem) {
	return OpenZip(bytes.NewReader(data), int64(len(data)))
}

// TestOpenZipLayouts checks which folders an archive may contain, and where its files appear.
func TestOpenZipLayouts(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string // names of the files, or "!" and the problem
	}{
		{[]string{"START.md", "b.txt"}, "START.md b.txt"},
		{[]string{"flow/START.md", "flow/b.txt"}, "START.md b.txt"},
		{[]string{"flow/", "flow/START.md", "flow/sub/", "__MACOSX/", "__MACOSX/flow/._START.md", ".DS_Store", "flow/.DS_Store"}, "START.md"},
		{nil, "! the archive is empty"},
		{[]string{".DS_Store", "__MACOSX/x"}, "! the archive is empty"},
		{[]string{"a/START.md", "b/C.md"}, `! entry "b/C.md" of the archive is not in the same folder as "a/START.md"`},
		{[]string{"b/C.md", "START.md"}, `! entry "START.md" of the archive is not in the same folder as "b/C.md"`},
		{[]string{"a/b/START.md"}, `! entry "a/b/START.md" of the archive is nested too deep`},
		{[]string{"START.md", "START.md"}, `! entry "START.md" of the archive exists twice`},
	} {
		fsys, problems := openBytes(makeZip(t, "text", c.names...))
		if want, isProblem := strings.CutPrefix(c.want, "! "); isProblem {
			assert.Assert(t, is.Len(problems, 1), "entries %q", c.names)
			assert.Check(t, is.Nil(fsys), "a file system beside problems")
			assert.Check(t, strings.HasPrefix(problems[0].Message, want), "entries %q\ngot  %v\nwant %s", c.names, problems, want)
			continue
		}
		assert.Assert(t, is.Nil(problems), "entries %q", c.names)
		names, err := fs.Glob(fsys, "*")
		assert.NilError(t, err)
		assert.Check(t, is.Equal(strings.Join(names, " "), c.want), "entries %q", c.names)
	}
}

// TestOpenZipLimits checks the limits on the number and the size of entries.
func TestOpenZipLimits(t *testing.T) {
	var many []string
	for i := range maxEntries + 1 {
		many = append(many, fmt.Sprintf("%d.md", i))
	}
	big := strings.Repeat("x", maxEntry)
	for _, c := range []struct {
		refused, taken []byte
		want           string
	}{
		{makeZip(t, "", many...), makeZip(t, "", many[1:]...), `entry "1000.md" of the archive exceeds the limit`},
		{makeZip(t, big+"x", "START.md"), makeZip(t, big, "START.md"), "unpacks to more than 1 MiB"},
	} {
		if _, problems := openBytes(c.refused); len(problems) != 1 || !strings.Contains(problems[0].Message, c.want) {
			t.Errorf("over the limit\ngot  %v\nwant %s", problems, c.want)
		}
		_, problems := openBytes(c.taken)
		assert.Check(t, is.Nil(problems), "at the limit\ngot  %v\nwant no problem", problems)
	}
}

// TestZipFilesAreReadOnly checks the mode and the content of files. It also checks that an archive
// with a broken file is rejected.
func TestZipFilesAreReadOnly(t *testing.T) {
	data := makeZip(t, "echo\n", "flow/START.sh")
	fsys, problems := openBytes(data)
	assert.Assert(t, is.Nil(problems))
	text, err := fs.ReadFile(fsys, "START.sh")
	info, _ := fs.Stat(fsys, "START.sh")
	assert.Check(t, err == nil && string(text) == "echo\n" && info.Mode() == 0o555, "got %q with %v (%v), want it as it was, with mode 0555", text, info, err)
	_, problems = openBytes(bytes.Replace(data, []byte("echo"), []byte("exit"), 1))
	assert.Check(t, is.Len(problems, 1), "a file with another checksum")
}

package proc

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// record is a line that Lines has delivered.
type record struct {
	text string
	cut  bool
}

// write writes text in chunks. The size of each chunk is an element of sizes plus one; the elements are
// repeated until the text ends. If sizes is empty, write writes the text in one chunk.
func write(w io.Writer, text, sizes []byte) {
	for i := 0; len(text) > 0; i++ {
		n := len(text)
		if len(sizes) > 0 {
			n = min(n, 1+int(sizes[i%len(sizes)]))
		}
		_, _ = w.Write(text[:n])
		text = text[n:]
	}
}

// FuzzLinesDoNotDependOnTheChunks checks that Lines delivers the same lines whatever the chunks of the
// text are.
func FuzzLinesDoNotDependOnTheChunks(f *testing.F) {
	f.Add([]byte("a\nbc\n\n\xff\r\nno end"), 5, []byte{0})
	f.Add([]byte("longer than the limit\nand so is this one"), 3, []byte{2, 7})
	f.Add([]byte("exactly\nexactly"), 7, []byte{6})
	f.Add([]byte("\n"), 1, []byte{})
	f.Add([]byte(strings.Repeat("x", 300)+"\ny"), 100, []byte{255, 0})
	f.Fuzz(func(t *testing.T, text []byte, limit int, sizes []byte) {
		limit = 1 + (limit&0x7fffffff)%512
		var got []record
		l := &Lines{Max: limit, Line: func(line []byte, cut bool) { got = append(got, record{string(line), cut}) }}
		write(l, text, sizes)
		l.Flush()
		// The records that Lines must deliver: the lines of the whole text.
		var want []record
		all := strings.Split(string(text), "\n")
		if last := len(all) - 1; all[last] == "" {
			all = all[:last]
		}
		for _, line := range all {
			want = append(want, record{line[:min(len(line), limit)], len(line) > limit})
		}
		assert.Check(t, reflect.DeepEqual(got, want), "%q, at most %d, chunks %v\ngot  %+v\nwant %+v", text, limit, sizes, got, want)
	})
}

// FuzzTailKeepsTheEnd checks that a Tail contains the end of a text whatever the chunks of the text are.
func FuzzTailKeepsTheEnd(f *testing.F) {
	f.Add([]byte("déjà vu"), 4, []byte{0})
	f.Add([]byte("short"), 5, []byte{9})
	f.Add([]byte("x"), 0, []byte{})
	f.Fuzz(func(t *testing.T, text []byte, limit int, sizes []byte) {
		limit = (limit & 0x7fffffff) % 64
		tail := &Tail{Max: limit}
		write(tail, text, sizes)
		got := tail.Bytes()
		if !bytes.HasSuffix(text, got) || len(got) != min(limit, len(text)) || tail.Truncated() != (len(text) > limit) {
			t.Errorf("%q, %d, chunks %v: got %q, truncated: %v", text, limit, sizes, got, tail.Truncated())
		}
	})
}

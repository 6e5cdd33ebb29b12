package secrets

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// pieces is a reader that returns at most size bytes in each call.
type pieces struct {
	r    io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(p.size, len(b))]) }

// readBack reads a text through MaskReader in chunks of size bytes.
func readBack(t testing.TB, s *Set, text string, size int) string {
	t.Helper()
	got, err := io.ReadAll(s.MaskReader(pieces{strings.NewReader(text), size}))
	assert.NilError(t, err, "fill %q", text)
	assert.Assert(t, is.Len(got, len(text)), "fill %q", text)
	return string(got)
}

// TestChunksMakeNoDifference checks that a text is masked in the same way in chunks of several sizes, and
// if it is cut at any byte. The texts contain secrets in many forms.
func TestChunksMakeNoDifference(t *testing.T) {
	s := set(t, token, "first line of it\nsecond line of it\n", "aaaaaaaaaaab", "aaaaaaaaa")
	texts := []string{"", "aaaaaaaaaaaaaaaaaaaaaaaaaaab", "ghp_1aB/2+c\"<", "first line of it\nsecond line of i", "ghp_1aB/\r\n2+c\"<é\n>&' z9", `Z2hwXzFhQi\\n8yK2MiPMOpPiYnIHo5`, "ghp_1aB\n\n\n\n\n\n\n\n\n/2"}
	for _, form := range slices.Sorted(slices.Values(s.forms)) {
		texts = append(texts, "x"+form+"y"+form[:len(form)-1]+form+form)
	}
	for _, text := range texts {
		want := readBack(t, s, text, len(text)+1)
		for _, size := range []int{1, 2, 3, 7, 8, 9, 31} {
			assert.Check(t, is.Equal(readBack(t, s, text, size), want), "%q in pieces of %d", text, size)
		}
		for cut := range text {
			got, err := io.ReadAll(s.MaskReader(io.MultiReader(strings.NewReader(text[:cut]), strings.NewReader(text[cut:]))))
			if err != nil || string(got) != want {
				t.Errorf("%q cut at %d\ngot  %q, %v\nwant %q", text, cut, got, err, want)
			}
		}
	}
}

// TestReaderReturnsErrorsLast checks that MaskReader returns all bytes that precede an error.
func TestReaderReturnsErrorsLast(t *testing.T) {
	s, broken := set(t, "sk-secret-value"), errors.New("broken")
	got, err := io.ReadAll(s.MaskReader(io.MultiReader(strings.NewReader("a sk-secret-value and sk-sec"), iotest.ErrReader(broken))))
	assert.Check(t, is.Equal(string(got), "a *************** and sk-sec"), "fill")
	assert.Check(t, is.ErrorIs(err, broken), "fill")
}

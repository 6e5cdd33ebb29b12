package secrets

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// written sends a text through Writer in pieces of size bytes.
func written(t testing.TB, s *Set, text string, size int) string {
	t.Helper()
	var out strings.Builder
	w := s.Writer(&out)
	for piece := range slices.Chunk([]byte(text), size) {
		if n, err := w.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("write %q: got %d, %v", piece, n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// pieces is a reader of at most size bytes at a time.
type pieces struct {
	r    io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(p.size, len(b))]) }

// readBack reads a text through Fill in pieces of size bytes.
func readBack(t testing.TB, s *Set, text string, size int) string {
	t.Helper()
	got, err := io.ReadAll(s.Fill(pieces{strings.NewReader(text), size}))
	if err != nil || len(got) != len(text) {
		t.Fatalf("fill %q: got %d bytes, %v, want %d", text, len(got), err, len(text))
	}
	return string(got)
}

// samples are texts with secrets in all kinds of forms.
func samples(t testing.TB) (*Set, []string) {
	s := set(t, token, "first line of it\nsecond line of it\n", "aaaaaaaaaaab", "aaaaaaaaa")
	texts := []string{"", "aaaaaaaaaaaaaaaaaaaaaaaaaaab", "ghp_1aB/2+c\"<", "first line of it\nsecond line of i"}
	for _, form := range slices.Sorted(slices.Values(s.forms)) {
		texts = append(texts, "x"+form+"y"+form[:len(form)-1]+form+form)
	}
	return s, texts
}

// TestPiecesMakeNoDifference cuts at every byte, and everything at once.
func TestPiecesMakeNoDifference(t *testing.T) {
	s, texts := samples(t)
	for _, text := range texts {
		want, wantFilled := s.Text(text), readBack(t, s, text, len(text)+1)
		for _, size := range []int{1, 2, 3, 7, 8, 9, 31} {
			if got := written(t, s, text, size); got != want {
				t.Errorf("%q in pieces of %d\ngot  %q\nwant %q", text, size, got, want)
			}
			if got := readBack(t, s, text, size); got != wantFilled {
				t.Errorf("%q in pieces of %d\ngot  %q\nwant %q", text, size, got, wantFilled)
			}
		}
		for cut := range text {
			var out strings.Builder
			w := s.Writer(&out)
			_, _ = io.WriteString(w, text[:cut])
			_, _ = io.WriteString(w, text[cut:])
			if err := w.Close(); err != nil || out.String() != want {
				t.Errorf("%q cut at %d\ngot  %q, %v\nwant %q", text, cut, out.String(), err, want)
			}
		}
	}
}

// TestWriterHoldsBackLittle holds that a live log is not delayed by what can't be
// the beginning of a secret, and that what can be is.
func TestWriterHoldsBackLittle(t *testing.T) {
	s := set(t, "sk-secret-value", "a\nmultiline-secret")
	var out strings.Builder
	w := s.Writer(&out)
	for _, step := range []struct{ write, want string }{
		{"progress: 10 %\n", "progress: 10 %\n"},
		{"key sk-sec", "key "},
		{"t-", "sk-sect-"},
		{"sk-secret-valu", ""},
		{"es-secret-value is it\n", "***s-secret-value is it\n"},
	} {
		out.Reset()
		_, err := io.WriteString(w, step.write)
		if got := out.String(); got != step.want || err != nil {
			t.Errorf("write %q: got %q, %v, want %q", step.write, got, err, step.want)
		}
	}
}

func TestErrorsPass(t *testing.T) {
	s := set(t, "sk-secret-value")
	broken := errors.New("broken")
	if _, err := io.WriteString(s.Writer(failing{broken}), "some text\n"); !errors.Is(err, broken) {
		t.Errorf("write: got %v, want %v", err, broken)
	}
	w := s.Writer(failing{broken})
	if _, err := io.WriteString(w, "sk-sec"); err != nil {
		t.Errorf("write of what is held back: %v", err)
	}
	if err := w.Close(); !errors.Is(err, broken) {
		t.Errorf("close: got %v, want %v", err, broken)
	}
	if _, err := io.WriteString(w, "x"); err == nil {
		t.Error("write after close: got no error")
	}
	got, err := io.ReadAll(s.Fill(io.MultiReader(strings.NewReader("a sk-secret-value and sk-sec"), iotest.ErrReader(broken))))
	if string(got) != "a *************** and sk-sec" || !errors.Is(err, broken) {
		t.Errorf("fill: got %q, %v, want all before the error, and the error", got, err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

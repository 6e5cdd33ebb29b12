package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

func TestWindowReadsWhatIsThere(t *testing.T) {
	data := make([]byte, 3*windowSize+100)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	w := &window{r: bytes.NewReader(data), size: int64(len(data))}
	got, err := io.ReadAll(io.NewSectionReader(w, 0, w.size))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("read from the beginning: got %d bytes, %v, want the %d of the data", len(got), err, len(data))
	}
	for range 200 {
		at := rand.IntN(len(data))
		want := data[at:min(len(data), at+rand.IntN(2*windowSize))]
		got := make([]byte, len(want))
		if n, err := w.ReadAt(got, int64(at)); n != len(want) || err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes from %d on: got %d, %v", len(want), at, n, err)
		}
	}
	if n, err := w.ReadAt(make([]byte, 101), w.size-100); n != 100 || !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: got %d bytes, %v, want 100, %v", n, err, io.EOF)
	}
}

// TestWindowBelievesNothingThatFailed: what came before an error may not be whole.
func TestWindowBelievesNothingThatFailed(t *testing.T) {
	data := make([]byte, windowSize+100)
	w := &window{r: bytes.NewReader(data[:windowSize+50]), size: int64(len(data))}
	for range 2 {
		if n, err := w.ReadAt(make([]byte, 10), windowSize+20); n != 0 || err == nil {
			t.Errorf("from a stretch that can't be read whole: got %d bytes, %v, want an error", n, err)
		}
	}
	if n, err := w.ReadAt(make([]byte, 10), windowSize-10); n != 10 || err != nil {
		t.Errorf("from the stretch before: got %d bytes, %v, want 10", n, err)
	}
}

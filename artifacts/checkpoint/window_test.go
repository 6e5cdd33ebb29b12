package checkpoint

import (
	"bytes"
	"testing"
)

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

package job

import (
	"testing"
	"time"
)

// TestManyRemarksCostBoundedRequests: of a flood the first and the last ones are read,
// whoever wrote what is between.
func TestManyRemarksCostBoundedRequests(t *testing.T) {
	f := &forum{pages: 50}
	list, err := f.comments(t, "").Remarks(t.Context(), 7, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	pages := map[int64]bool{}
	for _, r := range list {
		if r.Kind == OnIssue {
			pages[r.ID/10] = true
		}
	}
	for page, want := range map[int64]bool{1: true, firstPages: true, firstPages + 1: false, 50 - lastPages: false, 51 - lastPages: true, 50: true} {
		if pages[page] != want {
			t.Errorf("page %d: got %t, want %t", page, pages[page], want)
		}
	}
	if most := 3 * (firstPages + lastPages); len(f.asked) > most {
		t.Errorf("got %d requests, want at most %d", len(f.asked), most)
	}
}

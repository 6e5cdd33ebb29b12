package protocol

import (
	"maps"
	"slices"
	"testing"
)

// TestKeysAreRead: a reader for each key of a frontmatter, and none for another one.
func TestKeysAreRead(t *testing.T) {
	read := slices.Sorted(maps.Keys(keyReaders))
	if want := slices.Sorted(slices.Values(keys)); !slices.Equal(read, want) {
		t.Errorf("got readers for %q, want %q", read, want)
	}
}

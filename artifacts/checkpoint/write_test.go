package checkpoint_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// TestWriteRefuses checks that Write rejects everything that Read would reject, and reads neither links nor
// directories.
func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	assert.NilError(t, errors.Join(os.WriteFile(file, []byte("secret"), 0o600), os.Symlink(file, link)))
	huge := filepath.Join(dir, "huge")
	assert.NilError(t, errors.Join(os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 256<<20+1)))
	many := writing(nil)
	for i := range 2000 {
		many.Entries = append(many.Entries, checkpoint.Entry{Name: "logs/" + strings.Repeat("x", i%200) + string(rune('a'+i/200))})
	}
	for name, tt := range map[string]struct {
		w    checkpoint.WriteRequest
		want error
	}{
		"a link":           {with(checkpoint.Entry{Name: "logs/x", Path: link, Size: -1}), nil},
		"a folder":         {with(checkpoint.Entry{Name: "logs/x", Path: dir, Size: -1}), nil},
		"a name":           {with(checkpoint.Entry{Name: "../x"}), nil},
		"twice":            {with(checkpoint.Entry{Name: "state.json"}), nil},
		"transcript":       {with(checkpoint.Entry{Name: checkpoint.Transcript{Backend: "claude", Session: other}.Name()}), nil},
		"too large":        {with(checkpoint.Entry{Name: "logs/x", Path: huge, Size: -1}), checkpoint.ErrTooLarge},
		"state too large":  {only(checkpoint.Entry{Name: "state.json", Path: huge, Size: 64<<20 + 1}), checkpoint.ErrTooLarge},
		"memory too large": {only(checkpoint.Entry{Name: "state.json", Data: make([]byte, 64<<20+1)}), checkpoint.ErrTooLarge},
		"too many":         {many, checkpoint.ErrTooLarge},
	} {
		if _, _, err := tryWrite(tt.w); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want an error (%v)", name, err, tt.want)
		}
	}
}

// TestWriteObeysItsLimits checks the limit on the archive and the limit on all files together.
func TestWriteObeysItsLimits(t *testing.T) {
	keys, _ := newKeys(t, 1)
	const manifestRoom = 4<<20 + 4<<10
	for _, k := range []*checkpoint.Keys{nil, keys} {
		w := only(checkpoint.Entry{Name: "logs/a", Data: noise(100_000)}, checkpoint.Entry{Name: "logs/b", Data: make([]byte, 100_000)})
		w.Keys = k
		data, _ := write(t, w)
		size := int64(len(data))
		for _, tt := range []struct {
			packed, total int64
			want          error
		}{
			{size, 200_000 + manifestRoom, nil},
			{size, 199_999 + manifestRoom, checkpoint.ErrTooLarge},
			{size - 1, 200_000 + manifestRoom, checkpoint.ErrTooLarge},
		} {
			assert.Check(t, is.ErrorIs(checkpoint.WriteWithin(io.Discard, w, tt.packed, tt.total), tt.want), "within %d and %d bytes", tt.packed, tt.total)
		}
	}
}

// with returns the request of writing(nil) with additional entries.
func with(entries ...checkpoint.Entry) checkpoint.WriteRequest {
	w := writing(nil)
	w.Entries = append(w.Entries, entries...)
	return w
}

// only returns a request that contains only the given entries.
func only(entries ...checkpoint.Entry) checkpoint.WriteRequest {
	return checkpoint.WriteRequest{Manifest: manifest(), Entries: entries}
}

package workspace_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// manyZeros returns zeros, which git compresses to about a thousandth of their size.
func manyZeros(mib int) string { return strings.Repeat("\x00", mib<<20) }

// TestInflatingBundlesAreRefused checks that Restore rejects saves of a few kilobytes that would fill the
// disk, and writes nothing. 24 MiB with the limit in this test correspond to 6 GiB with the default limit.
func TestInflatingBundlesAreRefused(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	scratch := clone(t, remote)
	many := func(n int, mib func(i int) string) (entries string) {
		for i := range n {
			entries += fmt.Sprintf("100644 blob %s\tx%d\n", blob(t, scratch.checkout(), mib(i)), i)
		}
		return entries
	}
	forgeries := map[string]forgery{
		"one large file":        {files: many(1, func(int) string { return manyZeros(24) })},
		"files that are alike":  {files: many(12, func(i int) string { return fmt.Sprint(i) + manyZeros(2) })},
		"a file at many places": {files: many(100, func(int) string { return manyZeros(1) })},
	}
	for _, name := range some(names(forgeries)) {
		t.Run(name, func(t *testing.T) {
			here := clone(t, remote)
			from := forgeries[name].forge(t, scratch)
			before := everything(t, here.root, noObjects)
			_, err := (&workspace.Git{Limit: mebi}).Restore(t.Context(), workspace.RestoreRequest{From: from, Dir: relocated(scratch, here)})
			assert.Check(t, is.ErrorContains(err, "when unpacked"))
			assert.Check(t, is.DeepEqual(everything(t, here.root, noObjects), before), "checkout after %v", err)
			if name == "one large file" {
				objects := git(t, here.checkout(), "count-objects", "-v")
				assert.Check(t, !strings.Contains(objects, "packs: 2"), "the bundle was unpacked:\n%s", objects)
			}
		})
	}
}

// TestExtractedFilesHaveASizeLimit checks that Extract stops at its size limit. The commit contains many
// files with the same content.
func TestExtractedFilesHaveASizeLimit(t *testing.T) {
	dir := clone(t, sharedRemote(t)).checkout()
	id := blob(t, dir, manyZeros(24))
	var entries strings.Builder
	for n := range 12 {
		fmt.Fprintf(&entries, "100644 blob %s\t%d\n", id, n)
	}
	commit := strings.TrimSpace(git(t, dir, "commit-tree", "-m", "", mktree(t, dir, entries.String())))
	to := t.TempDir()
	err := (&workspace.Git{}).Extract(t.Context(), workspace.CommitPath{Dir: dir, Commit: commit, Name: "."}, to)
	assert.Check(t, is.ErrorContains(err, "256 MiB"), "want an error that names the limit")
	written, err := os.ReadDir(to)
	var size int64
	for _, e := range written {
		info, _ := e.Info()
		size += info.Size()
	}
	assert.Check(t, err)
	assert.Check(t, size <= 256<<20, "%d bytes were written (%v)", size, err)
}

// object returns an object of a pack. kind is its type, size the size in its header, and reference the base
// of a delta.
func object(kind byte, size int, reference string, content string) string {
	head := []byte{kind<<4 | byte(size&15)}
	if size >>= 4; size > 0 {
		head[0] |= 0x80
		head = binary.AppendUvarint(head, uint64(size))
	}
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = io.WriteString(w, content)
	w.Close()
	return string(head) + reference + out.String()
}

// packOf returns a pack with some objects, without the hash at its end.
func packOf(objects ...string) string {
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	return string(head) + strings.Join(objects, "")
}

// TestPacksWithFalseSizes checks that inflatedSize finds objects that are larger or smaller than their
// headers say, and deltas with large results.
func TestPacksWithFalseSizes(t *testing.T) {
	delta := func(made int) string {
		return string(binary.AppendUvarint([]byte{10}, uint64(made))) + strings.Repeat("\x90\x0a", 20)
	}
	id := strings.Repeat("x", 20)
	plain, small := strings.Repeat("a", 1000), delta(1000)
	for name, test := range map[string]struct {
		pack string
		want int64  // size, if the pack is valid
		err  string // part of the error; if empty, there must be no error
	}{
		"two objects":         {packOf(object(3, 1000, "", plain), object(1, 1000, "", plain)), 2000, ""},
		"a delta":             {packOf(object(3, 1000, "", plain), object(7, len(small), id, small)), int64(1000 + len(small)), ""},
		"an offset delta":     {packOf(object(3, 1000, "", plain), object(6, len(small), "\x81\x05", small)), int64(1000 + len(small)), ""},
		"a large object":      {packOf(object(3, 5000, "", plain)), 0, "an object has more than 4000 bytes"},
		"more than it says":   {packOf(object(3, 10, "", plain)), 0, "differs from its header"},
		"less than it says":   {packOf(object(3, 2000, "", plain)), 0, "differs from its header"},
		"a delta that bursts": {packOf(object(7, len(delta(5000)), id, delta(5000))), 0, "an object has more than 4000 bytes"},
		"not a delta":         {packOf(object(7, 2, id, "\xff\xff")), 0, "not a delta"},
		"an endless size":     {packOf("\xbf" + strings.Repeat("\xff", 20)), 0, "overflow"},
		"many objects":        {packOf(slices.Repeat([]string{object(3, 1000, "", plain)}, 9)...), 0, "all objects have more than 8000 bytes"},
		"cut off":             {packOf(object(3, 1000, "", plain))[:20], 0, "EOF"},
		"a false number":      {"PACK\x00\x00\x00\x02\xff\xff\xff\xff", 0, "4294967295 objects"},
		"nothing":             {"", 0, "not a pack"},
	} {
		got, err := workspace.WeighPack(strings.NewReader(test.pack), 4000, 8000)
		switch {
		case test.err == "" && (err != nil || got != test.want):
			t.Errorf("%s: got %d and error %v, want %d", name, got, err, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: got error %v, want %q in it", name, err, test.err)
		}
	}
	huge := delta(513 << 20)
	_, err := workspace.WeighPack(strings.NewReader(packOf(object(7, len(huge), id, huge))), 1<<30, 8<<30)
	assert.Check(t, is.ErrorContains(err, "an object has more than 512 MiB"), "a delta whose result git would hold in memory")
}

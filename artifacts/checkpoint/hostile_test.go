package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io/fs"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// hostile describes an entry of a zip archive that Write would never write.
type hostile struct {
	name   string
	size   int64 // bytes of zeros
	mode   fs.FileMode
	method uint16
}

// plainWith returns a plain checkpoint that is valid except for additional entries.
func plainWith(t testing.TB, more ...hostile) []byte {
	t.Helper()
	data, _ := write(t, writing(nil))
	old, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	assert.NilError(t, err)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range old.File {
		assert.NilError(t, z.Copy(f))
	}
	for _, e := range more {
		h := &zip.FileHeader{Name: e.name, Method: e.method}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(make([]byte, e.size))
		}
		assert.NilError(t, err)
	}
	assert.NilError(t, z.Close())
	return out.Bytes()
}

// TestHostileArchives checks that Read rejects archives that break a rule.
func TestHostileArchives(t *testing.T) {
	assert.NilError(t, read(t, plainWith(t), nil).err, "a good archive")
	for _, e := range []hostile{
		{name: "../evil"}, {name: "logs"}, {name: "logs/" + strings.Repeat("x", 251)}, {name: "state.json"},
		{name: ".checkpoint/files/state.json"}, {name: ".git/config"},
		{name: "settings.json"}, {name: "transcripts/x.jsonl"}, {name: "transcripts/" + other + ".jsonl"}, {name: "transcripts/other/" + other + ".jsonl"}, {name: "transcripts/claude/codex/" + other + ".jsonl"}, {name: "transcripts/" + strings.ToUpper(other) + ".jsonl"},
		{name: "transcripts/" + other + ".json"}, {name: "transcripts/" + other + "/x.jsonl"}, {name: "workspace/.bundle"}, {name: "workspace/a/b.bundle"},
		{name: "workspace/index.json.txt"}, {name: "logs/link", mode: fs.ModeSymlink | 0o777}, {name: "logs/bomb", size: 2 << 20, method: zip.Deflate},
	} {
		refused(t, e.name, plainWith(t, e), nil, "")
	}
	many := make([]hostile, 2000)
	for i := range many {
		many[i].name = "logs/" + strings.Repeat("y", i/20+1) + string(rune('a'+i%20))
	}
	refused(t, "2,007 entries", plainWith(t, many...), nil, "more than 2000")
	refused(t, "not in the manifest", plainWith(t, hostile{name: "logs/more"}), nil, `"logs/more"`)
	refused(t, "nothing", nil, nil, "")
	refused(t, "no archive", []byte(strings.Repeat("PK\x05\x06", 100)), nil, "")
	refused(t, "an empty archive", archive(t, nil), nil, "contains neither")
}

// TestOversizedEntriesAreRefused checks that Read rejects entries that are too large, alone or together,
// according to the sizes in the archive's directory.
func TestOversizedEntriesAreRefused(t *testing.T) {
	one := []hostile{{name: "logs/1", size: 1}}
	five := append(one, hostile{name: "logs/2", size: 1}, hostile{name: "logs/3", size: 1}, hostile{name: "logs/4", size: 1}, hostile{name: "logs/5", size: 1})
	for _, tt := range []struct {
		more []hostile
		size uint32
		want string
	}{
		{one, 256<<20 + 1, `"logs/1": unpacks to more than 268435456 bytes`},
		{five, 250 << 20, "over 1024 MiB"},
	} {
		data := plainWith(t, tt.more...)
		for _, e := range tt.more {
			at := bytes.LastIndex(data, []byte(e.name)) - 46 + 20
			binary.LittleEndian.PutUint32(data[at:], tt.size)
			binary.LittleEndian.PutUint32(data[at+4:], tt.size)
		}
		refused(t, tt.want, data, nil, tt.want)
	}
	_, _, err := checkpoint.Read(checkpoint.ReadRequest{Size: 512<<20 + 1, Dir: t.TempDir()})
	assert.Check(t, is.ErrorContains(err, "more than 536870912"), "an archive that is too large: want an error")
}

// FuzzRead checks that Read unpacks either exactly the files in the manifest or nothing, and that it writes
// nothing outside of its directory.
func FuzzRead(f *testing.F) {
	keys, _ := newKeys(f, 1)
	sealed, written := write(f, writing(keys))
	f.Add(sealed, true)
	f.Add(plainWith(f), false)
	f.Add(plainWith(f, hostile{name: "../x", size: 3}, hostile{name: "logs/link", mode: fs.ModeSymlink | 0o777}), false)
	f.Fuzz(func(t *testing.T, data []byte, keyed bool) {
		k := keys
		if !keyed {
			k = nil
		}
		got := read(t, data, k)
		assert.Check(t, !keyed || got.err != nil || got.digest == written.Digest, "accepted a sealed checkpoint that was made without the key")
	})
}

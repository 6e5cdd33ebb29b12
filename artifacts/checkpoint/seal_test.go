package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// refused checks that Read returns an *Invalid for a checkpoint, and that the error's text contains want.
func refused(t *testing.T, what string, data []byte, keys *checkpoint.Keys, want string) {
	t.Helper()
	var invalid *checkpoint.Invalid
	if got := read(t, data, keys); !errors.As(got.err, &invalid) || !strings.Contains(got.err.Error(), want) {
		t.Errorf("%s: got %v, want an *Invalid with %q", what, got.err, want)
	}
}

// TestChangedBytesAreDetected changes single bytes of sealed checkpoints: each byte of the header and many
// bytes of the age file in a small checkpoint, and some bytes in a large one. Read must reject them. A
// change to another byte of the archive must either be an error or have no effect.
func TestChangedBytesAreDetected(t *testing.T) {
	keys, _ := newKeys(t, 1)
	rnd := rand.New(rand.NewPCG(1, 2))
	small, _ := write(t, writing(keys))
	good := read(t, small, keys)
	all := entries(t, small)
	inside := func(at int, name string) bool {
		from := bytes.Index(small, all[name])
		return from <= at && at < from+len(all[name])
	}
	for at := range small {
		switch isAge := inside(at, "bundle.age"); {
		case isAge && at%31 > 0:
		case isAge || inside(at, "header.json"):
			refused(t, fmt.Sprintf("byte %d", at), flipped(small, at, rnd), keys, "")
		default:
			if got := read(t, flipped(small, at, rnd), keys); got.err == nil && (got.digest != good.digest || !cmp.Equal(got.files, good.files)) {
				t.Errorf("byte %d: got another checkpoint", at)
			}
		}
	}
	large, _ := write(t, checkpoint.WriteRequest{Manifest: manifest(), Keys: keys, Entries: []checkpoint.Entry{{Name: "logs/x", Data: noise(300_000)}}})
	for range 50 {
		at := 100 + rnd.IntN(300_000)
		refused(t, fmt.Sprintf("byte %d of %d", at, len(large)), flipped(large, at, rnd), keys, "")
	}
}

// flipped returns a copy of data in which the byte at an index is changed.
func flipped(data []byte, at int, rnd *rand.Rand) []byte {
	changed := bytes.Clone(data)
	changed[at] ^= byte(1 + rnd.IntN(255))
	return changed
}

// TestKeyRotation checks that the first key seals, that every key can open, and that a key that was removed
// can't open.
func TestKeyRotation(t *testing.T) {
	_, lines := newKeys(t, 3)
	old, rotated, gone := parseKeys(t, lines[0]), parseKeys(t, lines[1], lines[0]), parseKeys(t, lines[1], lines[2])
	before, _ := write(t, writing(old))
	after, _ := write(t, writing(rotated))
	assert.Check(t, read(t, before, rotated).err, "sealed with the second of two keys")
	assert.Check(t, read(t, after, rotated).err, "sealed with the first of two keys")
	refused(t, "a removed key", before, gone, "which is not one of the 2 keys in state-key")
	refused(t, "a key added later", after, old, "which is not one of the 1 keys in state-key")
}

// TestMissingKeysAndSealsAreErrors checks the errors for a sealed checkpoint without a key, and for a plain
// checkpoint with a key. A sealed checkpoint must not show its contents.
func TestMissingKeysAndSealsAreErrors(t *testing.T) {
	keys, _ := newKeys(t, 1)
	plain, _ := write(t, writing(nil))
	sealed, _ := write(t, writing(keys))
	if got := read(t, sealed, nil); !errors.Is(got.err, checkpoint.ErrSealed) || !strings.Contains(got.err.Error(), "state-key") {
		t.Errorf("sealed, without a key: got %v, want ErrSealed that names state-key", got.err)
	}
	assert.Check(t, is.ErrorIs(read(t, plain, keys).err, checkpoint.ErrNotSigned), "plain, with a key")
	for _, secret := range []string{"logs/main", "x-yml-main", "out of quota", session} {
		assert.Check(t, !bytes.Contains(sealed, []byte(secret)), "a sealed checkpoint shows %q", secret)
	}
}

// entries returns the contents of the files in an archive, by name.
func entries(t testing.TB, data []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	assert.NilError(t, err)
	files := map[string][]byte{}
	for _, f := range z.File {
		in, err := f.Open()
		assert.NilError(t, err)
		files[f.Name], err = io.ReadAll(in)
		assert.NilError(t, err)
	}
	return files
}

// archive returns a zip archive with the given files, in the form of the outer archive that Write writes.
func archive(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(files[name])
		}
		assert.NilError(t, err)
	}
	assert.NilError(t, z.Close())
	return out.Bytes()
}

// TestExchangedFilesAreRefused checks that Read rejects archives with files from different checkpoints,
// even if these are sealed with the same key.
func TestExchangedFilesAreRefused(t *testing.T) {
	keys, _ := newKeys(t, 1)
	one := writing(keys)
	two := writing(keys)
	two.Manifest.Generation++
	two.Entries[0].Data = []byte(`{"schema": 2}`)
	first, _ := write(t, one)
	second, _ := write(t, two)
	again, _ := write(t, one)
	a, b, c := entries(t, first), entries(t, second), entries(t, again)
	assert.Assert(t, bytes.Equal(archive(t, a), first), "the archives of the test differ from Write's")
	for what, files := range map[string]map[string][]byte{
		"header of a later one":  {"bundle.age": a["bundle.age"], "header.json": b["header.json"]},
		"header of an equal one": {"bundle.age": a["bundle.age"], "header.json": c["header.json"]},
		"no header":              {"bundle.age": a["bundle.age"]},
		"no bundle":              {"header.json": a["header.json"]},
		"a plain file more":      {"bundle.age": a["bundle.age"], "header.json": a["header.json"], "state.json": nil},
		"header with blanks":     {"bundle.age": a["bundle.age"], "header.json": append([]byte(" "), a["header.json"]...)},
	} {
		refused(t, what, archive(t, files), keys, "")
	}
	newer := map[string][]byte{"bundle.age": nil, "header.json": []byte(`{"schema": 6, "what": "ever"}`)}
	refused(t, "header of a newer release", archive(t, newer), keys, "is 6, want 5")
}

// TestFilesMustMatchTheManifest checks that Read rejects archives with missing, additional and exchanged
// files.
func TestFilesMustMatchTheManifest(t *testing.T) {
	first, _ := write(t, writing(nil))
	another := writing(nil)
	another.Entries[0].Data = []byte(`{"schema": 2}`)
	second, _ := write(t, another)
	other := entries(t, second)
	for what, change := range map[string]func(map[string][]byte){
		"manifest of another": func(m map[string][]byte) { m["manifest.json"] = other["manifest.json"] },
		"no manifest":         func(m map[string][]byte) { delete(m, "manifest.json") },
		"file of another":     func(m map[string][]byte) { m["state.json"] = other["state.json"] },
		"a file less":         func(m map[string][]byte) { delete(m, "events.jsonl") },
		"two files exchanged": func(m map[string][]byte) { m["events.jsonl"], m["state.json"] = m["state.json"], m["events.jsonl"] },
	} {
		files := entries(t, first)
		change(files)
		refused(t, what, archive(t, files), nil, "")
	}
}

// TestForgeryNeedsTheKey checks that Read rejects a checkpoint in which only the MAC is wrong.
func TestForgeryNeedsTheKey(t *testing.T) {
	keys, lines := newKeys(t, 2)
	good, _ := write(t, writing(keys))
	others, _ := write(t, writing(parseKeys(t, lines[1])))
	files := entries(t, good)
	mac := regexp.MustCompile(`"mac": ?"[0-9a-f]{64}"`)
	for what, forged := range map[string][]byte{
		"the MAC of another key": mac.Find(entries(t, others)["header.json"]), "zeros for a MAC": []byte(`"mac": "` + strings.Repeat("0", 64) + `"`), "no MAC": []byte(`"mac": ""`),
	} {
		header := mac.ReplaceAll(files["header.json"], forged)
		refused(t, what, archive(t, map[string][]byte{"bundle.age": files["bundle.age"], "header.json": header}), keys, "has a wrong MAC")
	}
}

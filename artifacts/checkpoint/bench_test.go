package checkpoint_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// transcriptLike returns bytes that compress as transcripts do, some five to one.
func transcriptLike(size int) []byte {
	rnd := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for b.Len() < size {
		fmt.Fprintf(&b, `{"type":"assistant","uuid":"%016x","message":{"content":[{"type":"text","text":"I change line %d of %s and run it again."}]}}`+"\n",
			rnd.Uint64(), rnd.IntN(1000), []string{"main.go", "state/run.go", "README.md"}[rnd.IntN(3)])
	}
	return b.Bytes()[:size]
}

// BenchmarkCheckpoint writes and reads 20 MiB: 12 of text, 8 of a git bundle.
func BenchmarkCheckpoint(b *testing.B) {
	keys, _ := newKeys(b, 1)
	for name, k := range map[string]*checkpoint.Keys{"plain": nil, "sealed": keys} {
		w := checkpoint.Writing{Manifest: manifest(), Keys: k, Parts: []checkpoint.Part{
			{Name: "events.jsonl", Data: transcriptLike(12 << 20)}, {Name: "workspace/0.bundle", Data: noise(8 << 20)},
		}}
		f, err := os.Create(filepath.Join(b.TempDir(), "archive"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		written, err := checkpoint.Write(f, w)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("write/"+name, func(b *testing.B) {
			b.SetBytes(20 << 20)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := checkpoint.Write(f, w); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("read/"+name, func(b *testing.B) {
			b.SetBytes(20 << 20)
			b.ReportAllocs()
			for b.Loop() {
				dir := b.TempDir()
				if _, _, err := checkpoint.Read(checkpoint.Reading{File: f, Size: written.Size, Keys: k, Dir: dir}); err != nil {
					b.Fatal(err)
				}
				if err := os.RemoveAll(dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

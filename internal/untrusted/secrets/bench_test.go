package secrets

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// fifty are as many values as a job may have, with a multi-line one.
func fifty() map[string]string {
	r := rand.New(rand.NewPCG(3, 4))
	values := map[string]string{}
	for i := range 49 {
		values[fmt.Sprint("TOKEN_", i)] = "ghp_" + string(noise(r, 36))
	}
	values["PEM"] = strings.Join(slices.Collect(maps.Values(values)), "\n")
	return values
}

// noise is text of the letters that tokens and base64 are made of.
func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[r.IntN(64)]
	}
	return b
}

func benchmarkSet(b *testing.B) (*Set, []byte) {
	s, _ := New(fifty())
	text := noise(rand.New(rand.NewPCG(5, 6)), 5<<20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	b.ResetTimer()
	return s, text
}

func BenchmarkWriter(b *testing.B) {
	s, text := benchmarkSet(b)
	for b.Loop() {
		w := s.Writer(io.Discard)
		for piece := range slices.Chunk(text, 32<<10) {
			_, _ = w.Write(piece)
		}
		_ = w.Close()
	}
}

func BenchmarkFill(b *testing.B) {
	s, text := benchmarkSet(b)
	for b.Loop() {
		_, _ = io.Copy(io.Discard, s.Fill(bytes.NewReader(text)))
	}
}

func BenchmarkNew(b *testing.B) {
	values := fifty()
	for b.Loop() {
		New(values)
	}
}

// BenchmarkHostile is a text that keeps beginning like secrets.
func BenchmarkHostile(b *testing.B) {
	s, _ := New(fifty())
	text := bytes.Repeat([]byte(s.forms[0][:len(s.forms[0])-1]), 5<<20/len(s.forms[0]))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = io.Copy(io.Discard, s.Fill(bytes.NewReader(text)))
	}
}

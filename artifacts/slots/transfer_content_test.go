//go:build linux

package slots_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fill makes ten files of so many MB together: noise, or text as in the transcripts of an
// agent CLI.
func fill(dir string, megabytes int, content string) error {
	const count = 10
	each := megabytes * 1_000_000 / count
	sources, err := readSources("../..")
	if err != nil {
		return err
	}
	for i := range count {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)))
		if err != nil {
			return err
		}
		if content == "noise" {
			_, err = io.CopyN(f, rand.NewChaCha8([32]byte{byte(i)}), int64(each))
		} else {
			err = newConversation(uint64(i), sources).write(f, each)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// readSources reads the lines of the sources of this project, file by file.
func readSources(root string) ([][]string, error) {
	var sources [][]string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".md") {
			return err
		}
		data, err := os.ReadFile(path)
		sources = append(sources, strings.Split(string(data), "\n"))
		return err
	})
	return sources, err
}

// conversation makes up what an agent CLI notes of a conversation about these sources: what
// the agent says, the tools that it uses, and their results, which are most of it.
type conversation struct {
	rnd     *rand.Rand
	sources [][]string
	now     time.Time
	session string
	last    string // id of the line before
}

func newConversation(seed uint64, sources [][]string) *conversation {
	c := &conversation{rnd: rand.New(rand.NewPCG(seed, 1)), sources: sources, now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
	c.session = c.id()
	return c
}

func (c *conversation) write(w io.Writer, size int) error {
	out := bufio.NewWriter(w)
	for size > 0 {
		for _, line := range c.turn() {
			n, _ := out.Write(line[:min(size, len(line))])
			size -= n
		}
	}
	return out.Flush()
}

// turn is the use of a tool and its result.
func (c *conversation) turn() [][]byte {
	file := c.sources[c.rnd.IntN(len(c.sources))]
	from := c.rnd.IntN(len(file))
	part := file[from:min(len(file), from+5+c.rnd.IntN(200))]
	use, name := "toolu_"+c.letters(24), fmt.Sprintf("/home/runner/work/r/r/pkg%d/file%d.go", c.rnd.IntN(30), c.rnd.IntN(30))
	asked := c.line("assistant", map[string]any{
		"id": "msg_" + c.letters(24), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "tool_use",
		"content": []any{
			map[string]any{"type": "text", "text": c.words(8 + c.rnd.IntN(40))},
			map[string]any{"type": "tool_use", "id": use, "name": "Read", "input": map[string]any{"file_path": name, "offset": from, "limit": len(part)}},
		},
		"usage": map[string]any{"input_tokens": c.rnd.IntN(10), "cache_read_input_tokens": c.rnd.IntN(150000), "output_tokens": c.rnd.IntN(900)},
	}, nil)
	var shown strings.Builder
	for i, text := range part {
		fmt.Fprintf(&shown, "%6d\t%s\n", from+i, text)
	}
	answered := c.line("user", map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": use, "content": shown.String()},
	}}, map[string]any{"type": "text", "file": map[string]any{"filePath": name, "content": strings.Join(part, "\n"), "startLine": from}})
	return [][]byte{asked, answered}
}

func (c *conversation) line(kind string, message, result any) []byte {
	c.now = c.now.Add(time.Duration(c.rnd.IntN(20000)) * time.Millisecond)
	id := c.id()
	line := map[string]any{
		"parentUuid": c.last, "isSidechain": false, "userType": "external", "cwd": "/home/runner/work/r/r", "sessionId": c.session,
		"version": "2.1.330", "gitBranch": "main", "type": kind, "message": message, "uuid": id, "timestamp": c.now.Format("2006-01-02T15:04:05.000Z"),
	}
	if result != nil {
		line["toolUseResult"] = result
	}
	c.last = id
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(line) // it has nothing that can't be encoded
	return out.Bytes()
}

// words are some from the sources.
func (c *conversation) words(n int) string {
	var words []string
	for len(words) < n {
		file := c.sources[c.rnd.IntN(len(c.sources))]
		words = append(words, strings.Fields(file[c.rnd.IntN(len(file))])...)
	}
	return strings.Join(words, " ")
}

func (c *conversation) id() string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", c.rnd.Uint32(), c.rnd.IntN(1<<16), c.rnd.IntN(1<<12), c.rnd.IntN(1<<12), c.rnd.Uint64()>>16)
}

func (c *conversation) letters(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"[c.rnd.IntN(57)]
	}
	return string(b)
}

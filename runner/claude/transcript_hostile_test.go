package claude

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// TestHostileTranscripts checks transcripts that agents could write to do harm: with a size of
// terabytes, or with lines that would fill the memory. Reading them must not take long, and must not
// return a result.
func TestHostileTranscripts(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	empty := strings.Repeat("{},", 200_000)
	spoke := `{"type":"assistant","message":{"id":"%s%d","model":"m","usage":{"input_tokens":1}}}` + "\n"
	var messages strings.Builder
	for i := range transcripts.MaxMessages + 1 {
		fmt.Fprintf(&messages, spoke, "msg", i)
	}
	for name, c := range map[string]struct {
		text   string
		length int64 // size of the file; 0 means the length of text
	}{
		"sparse":          {fmt.Sprintf(spoke, "a", 1), 10 << 40},
		"many values":     {`{"type":"assistant","message":{"id":"x","a":[` + empty + `{}]}}` + "\n", 0},
		"many counts":     {`{"type":"cost-state","totalCostUSD":1,"modelUsage":{"m":{},"a":[` + empty + `{}]}}` + "\n", 0},
		"many messages":   {messages.String(), 0},
		"names like text": {fmt.Sprintf(spoke, strings.Repeat("a", transcripts.MaxNames), 1), 0},
	} {
		d, dir, path := homeWith(t, id, c.text)
		assert.NilError(t, os.Truncate(path, max(c.length, int64(len(c.text)))), "the file system of the temporary folder has no files of that size; name another one by TMPDIR")
		usage, ok := d.Usage(runner.Conversation{ID: id, Dir: dir}, 0)
		assert.Check(t, !ok, "%s: the usage is %v", name, usage)
		count := (priorCount{path: path, size: int64(len(c.text))}).read()
		assert.Check(t, is.Nil(count.Models), "%s: a count %v", name, count)
		_, ok = d.Find(runner.Conversation{ID: id}, []string{dir})
		assert.Check(t, !ok, "%s: got a transcript that holds a prompt", name)
	}
}

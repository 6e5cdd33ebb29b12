package protocol_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/protocol"
)

// TestFrontmatterCostsLittle checks that no frontmatter needs much memory, because agents may have
// written it.
func TestFrontmatterCostsLittle(t *testing.T) {
	const size = 60 << 10
	for name, text := range map[string]string{
		"lists":   "x: " + strings.Repeat("[", size),
		"members": "x: [" + strings.Repeat("{},", size/3) + "{}]",
		"keys":    "x: {" + strings.Repeat("? ,", size/3) + "}",
		"items":   "x:\n" + strings.Repeat("- -\n", size/4),
		"aliases": "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d]\n",
	} {
		fsys := fstest.MapFS{"START.md": {Data: []byte("---\n" + text + "\n---\nprompt\n")}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		protocol.Load(fsys, protocol.LoadOptions{})
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		assert.Check(t, used <= 64<<20, "%s: got %d MiB used, want at most 64", name, used>>20)
	}
}

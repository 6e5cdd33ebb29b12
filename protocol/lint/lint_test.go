package lint_test

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/goldentest"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/lint"
)

// TestFindings compares the findings in folders of states with golden files. The files entry, platform,
// meta, agent and loop set options; the platform "unix windows" means both. Every problem that prevents a run from starting must be an error of lint.
func TestFindings(t *testing.T) {
	goldentest.Each(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) (text string) {
		fsys, settings := fstest.MapFS{}, map[string]string{}
		for name, content := range files {
			target, isLink := strings.CutPrefix(content, "LINK ")
			switch {
			case slices.Contains([]string{"entry", "platform", "meta", "agent", "loop"}, name):
				settings[name] = strings.TrimSpace(content)
			case isLink:
				fsys[name] = &fstest.MapFile{Data: []byte(strings.TrimSpace(target)), Mode: fs.ModeSymlink}
			default:
				fsys[name] = &fstest.MapFile{Data: goldentest.Bytes(content)}
			}
		}
		o := lint.Options{Meta: strings.Fields(settings["meta"]), Backend: settings["agent"]}
		o.Entry = settings["entry"]
		_, o.Loop = settings["loop"]
		platforms := strings.Fields(settings["platform"])
		for _, p := range append(platforms, "unix")[:max(1, len(platforms))] {
			if o.Platform = protocol.Platform(p); len(platforms) > 1 {
				text += "on " + p + "\n"
			}
			var errs []string
			for _, f := range lint.Workflow(fsys, o) {
				text += fmt.Sprintf("%s [%s] %v\n", f.Severity, f.Code, f.Problem)
				if f.Severity == lint.Error {
					errs = append(errs, f.File+f.Code+f.Message)
				}
			}
			_, problems := protocol.Load(fsys, o.LoadOptions)
			for _, p := range problems {
				assert.Check(t, is.Contains(errs, p.File+p.Code+p.Message), "%v forbids a start on %s, and is no error of lint", p, o.Platform)
			}
		}
		return text
	})
}

// TestManyTagsCostLittle checks that many tags, even on one line, need little memory, because an
// agent may have written the file.
func TestManyTagsCostLittle(t *testing.T) {
	for _, tag := range []string{"<goto>B</goto> ", "<goto>NOPE</goto> ", "<goto>B<goto> ", `<goto a="x>B</goto> `, "`<fork next='B' a='b'>B</fork> "} {
		fsys := fstest.MapFS{"START.md": {Data: []byte(strings.Repeat(tag, 10_000))}, "B.md": {Data: []byte("<result>ok</result>")}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		lint.Workflow(fsys, lint.Options{LoadOptions: protocol.LoadOptions{Platform: protocol.Unix}})
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		assert.Check(t, used <= 256<<20, "%s: got %d MiB used, want at most 256", tag, used>>20)
	}
}

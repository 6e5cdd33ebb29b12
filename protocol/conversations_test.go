package protocol

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestConversationStarts checks where conversations may start, with which agent CLI and which
// model. Continued conversations are not included, nor are agent CLIs that are known only when the
// workflow runs.
func TestConversationStarts(t *testing.T) {
	files := mapFS(map[string]string{
		"A.md": "<goto>B.md</goto> <reset>C.md</reset> <function return=\"B.md\" agent=\"codex\" model=\"m\">D.md</function>",
		"B.md": "---\nmodel: b\n---\n<fork next=\"B.md\">E.md</fork> <function return=\"B.md\" agent=\"{{x}}\">E.md</function>",
		"C.md": "---\nagent: gemini\n---\n<function return=\"B.md\" model=\"n\">C.md</function>",
		"D.md": "---\nagent: gemini\nmodel: d\n---\n<result>x</result>",
		"E.md": "---\nagent: codex\nmodel: e\n---\n<goto>F.sh</goto>",
		"F.sh": "echo '<reset>G.sh</reset>'",
		"G.sh": "echo '<goto>H.md</goto>'",
		"H.md": "<result>x</result>",
		"I.md": "never reached <result>x</result>",
	})
	w, problems := Load(files, LoadOptions{Entry: "A.md", Platform: Unix})
	assert.Assert(t, is.Len(problems, 0))
	for run, want := range map[string][]string{
		"claude": {"A.md claude run", "C.md gemini ", "C.md gemini n C.md:4", "D.md codex m A.md:1", "E.md codex e", "H.md claude run"},
		"codex":  {"A.md codex run", "C.md gemini ", "C.md gemini n C.md:4", "D.md codex m A.md:1", "E.md codex e", "H.md codex run"},
	} {
		var got []string
		for _, b := range w.Chart().Conversations(run, "run").Starts {
			text := fmt.Sprintf("%s %s %s", b.State, b.Backend, b.Model)
			if b.From != "" {
				text += fmt.Sprintf(" %s:%d", b.From, b.Pos.Line)
			}
			got = append(got, text)
		}
		slices.Sort(got)
		assert.Check(t, is.DeepEqual(got, want), "%s:\ngot  %q\nwant %q", run, got, want)
	}
}

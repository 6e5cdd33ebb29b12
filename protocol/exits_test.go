package protocol

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
)

// TestExitsOfWaits: an ask with a timeout has two exits, and a delay is as it is written.
func TestExitsOfWaits(t *testing.T) {
	files := map[string]string{"A.md": "x", "B.md": "x"}
	for _, c := range []struct{ start, want string }{
		{`<ask next="A">q</ask>`, "ask A.md"},
		{`<ask next="A" timeout=" 48h" timeout_next="B">q</ask>`, "ask A.md, ask B.md after 48h when nobody answers"},
		{`<ask next="A" timeout="48h">q</ask>`, "ask A.md, ask anywhere after 48h when nobody answers"},
		{`<join>A</join> or <goto after="{{delay}}">B</goto>`, "join A.md, goto B.md after {{delay}}"},
		{`<fork next="A" after="10m">B</fork>`, "fork B.md on to A.md"},
		{`<ask next="A" where="12">q</ask>`, ""}, // an agent may not choose where
		{"---\nallowed_transitions:\n  - {tag: ask, next: A, timeout: 1h, timeout_next: B}\n  - {tag: reset, target: B, after: 10m}\n---\nx",
			"ask A.md, ask B.md after 1h when nobody answers, reset B.md after 10m"},
		{"---\nallowed_transitions:\n  - {tag: ask, next: A, timeout_next: B}\n---\n<ask next=\"A\" timeout=\"2h\" timeout_next=\"B\">q</ask>",
			"ask A.md, ask B.md after 2h when nobody answers"},
		{"---\nallowed_tags: [ask]\nallowed_targets: [A, B]\n---\nx", "ask A.md, ask B.md"},
		{"---\nallowed_targets: [A]\n---\n<join>B</join>", "result, any A.md"},
	} {
		files["START.md"] = c.start
		w, problems := Load(mapFS(files), LoadOptions{Platform: Unix})
		if problems != nil {
			t.Fatal(problems)
		}
		if got := showExits(w.Chart().Exits("START.md")); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.start, got, c.want)
		}
	}
}

func showExits(exits []Exit) string {
	shown := make([]string, len(exits))
	for i, e := range exits {
		to := e.Target.State
		if e.Target.Open {
			to = "anywhere"
		}
		shown[i] = strings.TrimSpace(fmt.Sprintf("%s %s", cmp.Or(e.Verb, "any"), to))
		for word, said := range map[string]string{" on to ": e.After.State, " after ": e.Delay} {
			if said != "" {
				shown[i] += word + said
			}
		}
		if e.TimedOut {
			shown[i] += " when nobody answers"
		}
	}
	return strings.Join(shown, ", ")
}

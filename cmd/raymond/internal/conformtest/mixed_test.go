//go:build linux

package conformtest

import (
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/runner/gemini/geminitest"
)

const mixed = `-- 1_START.md --
First prompt.
say: one <function return="TWO" agent="codex">ASK</function>
-- ASK.md --
Codex begins.
say: asked <goto>AGAIN</goto>
-- AGAIN.md --
Codex again. wait here
say: again <result>codex is done</result>
-- TWO.md --
Second prompt: {{result}}
say: two <function return="THREE">GEMINI</function>
-- GEMINI.md --
---
agent: gemini
---
Gemini begins.
say: gemini <result>gemini is done</result>
-- THREE.md --
Third prompt: {{result}}
say: three <result>the end</result>
`

// TestMixed: a run of three vendors is killed in the midst of an answer of the second one,
// and resumed by another job, with another home and another checkout.
func TestMixed(t *testing.T) {
	t.Parallel()
	model := &player{hangs: true}
	r := &relay{t: t, forge: sitetest.NewForge(t), repo: acttest.Repository(t, inFolder(mixed))}
	for _, v := range []agenttest.Vendor{claudetest.Vendor{}, codextest.Vendor{}, geminitest.Vendor{}} {
		r.add(v, model)
	}
	first := r.begin(1)
	first.Until("the second answer of Codex", func() bool { return model.count("Codex again. wait here") > 0 })
	first.Until("a checkpoint", func() bool { return len(r.forge.Checkpoints(t, nil)) > 0 })
	first.Kill()
	r.forge.ChangeRun(1, func(run *artifactstest.Run) { run.Status = "completed" })
	model.set(func(p *player) { p.hangs = false })
	if o := patiently(r.begin(2, "INPUT_RESUME=require")); o.Code != 0 {
		t.Fatalf("second job: got %v", o)
	}
	m := &machine{Site: &sitetest.Site{T: t}, model: model}
	m.wantShown("Codex begins.", "Codex again. wait here")
	m.wantShown("First prompt.", "Second prompt: codex is done")
	m.wantShown("Gemini begins.")
	m.wantShown("First prompt.", "Second prompt: codex is done", "Third prompt: gemini is done")
}

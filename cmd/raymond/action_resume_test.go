//go:build linux

package main

import (
	"testing"
)

func TestScratchSite(t *testing.T) {
	c := newConsumer(t, `
-- flow/1_START.sh --
echo "<goto>TWO.md</goto>"
-- flow/TWO.md --
log: hey
reply:
<result>done</result>
end.
-- .github/workflows/w.yml --
on: workflow_dispatch
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: raymond
        uses: acme/raymond-action@v1
        with: {workflow: flow, env: SIDE_EFFECTS, anthropic-api-key: dummy-key-123456}
`+keepState)
	r := c.run(nil)
	t.Log(shown(r))
	s := wantStep(t, r, "one", "raymond", "success", map[string]string{"result": "done"})
	t.Log(s.Outputs, c.effects(), c.stored(nil)[0].manifest, len(c.keptEvents("one")), s.Took, r.Steps)
}

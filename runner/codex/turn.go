package codex

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// turn is what an order means for the CLI.
type turn struct {
	dir     string
	resumed string // the thread that is resumed; "" for a fresh one
	start   int64  // the size of its rollout
	before  count  // what that tells
	model   string // to ask for; "" for the CLI's own
	effort  string
	may     grant
}

// prepare cuts or copies the rollout that an order takes up, and says what the CLI is to do.
func (b *Backend) prepare(o runner.Order) (turn, *runner.Failure) {
	t := turn{dir: transcripts.ResolveLinks(o.Dir), model: o.Prompt.Model, effort: o.Prompt.Effort}
	var fail *runner.Failure
	if t.may, fail = grantOf(o.Prompt, o.Cage != nil); fail != nil {
		return t, fail
	}
	if t.may.web && !b.Proxy.AllowsTool(protocol.BackendCodex, "web_search") {
		t.may.web = false
		t.may.note("allowed_tools: WebSearch is run by the API: the input api-tools has to name web_search")
	}
	var path string
	if t.resumed, path, fail = keptOf(b.Env).Prepare(o.Prompt, ""); fail != nil || t.resumed == "" {
		return t, fail
	}
	if from := t.resumed; o.Prompt.Session == state.Branch {
		t.resumed = o.Prompt.SessionID
		if err := keptOf(b.Env).Branch(runner.Conversation{ID: from}, -1, t.resumed, ""); err != nil {
			return t, program.Fatal("session gone: branch it: %v", err)
		}
		path, _, _ = keptOf(b.Env).Path(t.resumed)
	}
	t.start, _ = transcripts.Size(path)
	t.before, _, _ = read(path, t.start)
	// Resumed with another model, the CLI first has the conversation summed up.
	t.model = cmp.Or(t.model, t.before.Model)
	return t, nil
}

// confine narrows the cage of an order as its grant says: the CLI's own sandbox can't be made
// in it.
func (t turn) confine(c *cage.Cage, keep []string) *cage.Cage {
	if c == nil || t.may.files != readOnly {
		return c
	}
	p := c.Policy()
	writable := slices.DeleteFunc(slices.Clone(p.Writable), func(path string) bool { return !cage.IsWithin(path, "/dev") })
	for _, path := range keep {
		if slices.ContainsFunc(p.Writable, func(w string) bool { return cage.IsWithin(path, w) }) {
			writable = append(writable, path)
		}
	}
	p.Writable = writable
	return cage.New(p)
}

// kept are the folders that are written by the CLI itself. Without a temporary one it resumes no thread.
func (b *Backend) kept(env []string) []string {
	keep := b.Needs().Write
	if tmp := program.Variable(env, "TMPDIR"); tmp != "" {
		keep = append(keep, filepath.Clean(tmp))
	}
	return keep
}

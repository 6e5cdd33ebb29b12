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

// turn contains the settings of one invocation of the CLI.
type turn struct {
	dir     string      // working directory, with symbolic links resolved
	resumed string      // id of the thread to resume; empty for a new thread
	start   int64       // size of the thread's rollout before the turn, in bytes
	before  threadUsage // usage of the thread before the turn
	model   string      // requested model; empty for the CLI's default
	effort  string
	may     grant
}

// prepare returns the settings for the invocation of an order. It also prepares the rollout: the
// rollout to resume is truncated, and the rollout to branch is copied.
func (b *Backend) prepare(o runner.Order) (turn, *runner.Failure) {
	t := turn{dir: transcripts.ResolveLinks(o.Dir), model: o.Prompt.Model, effort: o.Prompt.Effort}
	var fail *runner.Failure
	if t.may, fail = newGrant(o.Prompt, o.Cage != nil); fail != nil {
		return t, fail
	}
	if t.may.web && !b.Proxy.AllowsTool(protocol.BackendCodex, "web_search") {
		t.may.web = false
		t.may.note("allowed_tools: WebSearch runs at the vendor; to allow it, add web_search to the input api-tools")
	}
	var path string
	if t.resumed, path, fail = storeOf(b.Env).Prepare(o.Prompt, ""); fail != nil || t.resumed == "" {
		return t, fail
	}
	if from := t.resumed; o.Prompt.Session == state.Branch {
		t.resumed = o.Prompt.SessionID
		if err := storeOf(b.Env).Branch(runner.Conversation{ID: from}, -1, t.resumed, ""); err != nil {
			return t, program.Fatal("session gone: branch it: %v", err)
		}
		path, _, _ = storeOf(b.Env).Path(t.resumed)
	}
	t.start, _ = transcripts.Size(path)
	t.before, _, _ = readUsage(path, t.start)
	// If the model changes, the CLI summarizes the conversation before the turn. Avoid that by
	// keeping the model.
	t.model = cmp.Or(t.model, t.before.Model)
	return t, nil
}

// narrowCage returns a stricter cage if the agent must not write files, because the CLI's own
// read-only sandbox can't run in a cage. Of the paths that are writable in c, only /dev and the paths
// in keep stay writable. In all other cases, narrowCage returns c.
func (t turn) narrowCage(c *cage.Cage, keep []string) *cage.Cage {
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

// writableDirs returns the folders that the CLI itself writes to. They include the temporary
// folder, without which the CLI can't resume a thread.
func (b *Backend) writableDirs(env []string) []string {
	keep := b.Needs().Write
	if tmp := program.Variable(env, "TMPDIR"); tmp != "" {
		keep = append(keep, filepath.Clean(tmp))
	}
	return keep
}

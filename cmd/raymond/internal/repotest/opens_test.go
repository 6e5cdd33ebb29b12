package repotest

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// opening are the functions of package os that open a file by its path: whoever put a
// pipe there makes them wait forever, and whoever put a link there chooses the file.
var opening = []string{"Open", "OpenFile", "Create", "ReadFile", "WriteFile", "Truncate", "DirFS", "CopyFS"}

// openers are the product's files that use them, with the reason why nobody else can
// have put anything there, or why it does no harm. All others use internal/untrusted/files.
var openers = map[string]string{
	"internal/untrusted/files/files.go":             "it is the one place that knows how",
	"state/sync_unix.go":                            "a folder, opened as one and without waiting",
	"state/alive_unix.go":                           "/proc",
	"cmd/raymond/internal/claims/process_linux.go":  "/proc",
	"runner/internal/proc/pipes_other.go":           "/dev/null",
	"runner/report/log.go":                          "a pipe or a device that the user names with --events",
	"runner/traces/settings.go":                     "certificates that the user names, before agents run",
	"runner/simulate/actor.go":                      "with O_EXCL, which opens nothing that is there",
	"cmd/raymond/internal/notes/notes.go":           "with O_EXCL, which opens nothing that is there",
	"cmd/raymond/internal/scope/copy.go":            "with O_EXCL, and a copy that was just made before agents run",
	"cmd/raymond/internal/simulation/simulation.go": "replies that the user names, which may be a pipe",
	"runner/transcripts/transcripts.go":             "only names are looked at",
	"runner/codex/rollout/rollout.go":               "only names are looked at",
	"runner/codex/agent.go":                         "with O_EXCL, which opens nothing that is there",
	"runner/gemini/conversations.go":                "only names are looked at",
	"runner/pinned/pinned.go":                       "only names are looked at",
	"cmd/raymond/internal/checkpoints/store.go":     "in a folder of a random name, made a moment before",
	"artifacts/workspace/seen.go":                   "in a folder of the step's own, made a moment before",
	"artifacts/workspace/pack.go":                   "in a folder of the step's own, made a moment before",
	"artifacts/workspace/index.go":                  "in a folder of the step's own, made a moment before",
	"cmd/raymond/internal/action/source.go":         "the action's own examples, before agents run",
	"cmd/raymond/internal/agentcli/agentcli.go":     "the agent CLI's package, in a folder made a moment before",
	"cmd/raymond/internal/owncode/owncode.go":       "with O_EXCL, which opens nothing that is there",
	"cmd/raymond/internal/owncode/places.go":        "folders, seen to be folders before",
	"internal/cage/kernel_linux.go":                 "/proc",
	"internal/cage/processes_linux.go":              "/proc",
	"internal/cage/supervise_linux.go":              "/proc",
	"internal/cage/warden/kernel_linux.go":          "/proc",
	"internal/cage/warden/listens_linux.go":         "/proc",
	"internal/cage/warden/marks_linux.go":           "/proc",
	"cmd/sbom/main.go":                              "a tool of the release, without agents",
}

func TestFilesAreOpenedInOnePlace(t *testing.T) {
	used := map[string]bool{}
	for _, f := range sources(t) {
		if f.isTest() || isForTests(f.pkg()) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !isName(call.X, "os") || !slices.Contains(opening, call.Sel.Name) {
				return true
			}
			if used[f.name] = true; openers[f.name] == "" {
				t.Errorf("%s: os.%s: use internal/untrusted/files, or say here why not", f.name, call.Sel.Name)
			}
			return true
		})
	}
	for name := range openers {
		if !used[name] && !strings.Contains(name, "_windows") {
			t.Errorf("%s opens nothing any more: take it from the list", name)
		}
	}
}

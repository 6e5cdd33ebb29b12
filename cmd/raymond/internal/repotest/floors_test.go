package repotest

import (
	"slices"
	"strings"
	"testing"
)

// floors are the packages of each tree, from the highest floor down. Packages of one
// floor stand in one line. A package may import those of its tree that are on a lower
// floor, so no import runs upward or sideways.
var floors = map[string][]string{
	"cmd/raymond": {
		"cmd/raymond",
		"cmd/raymond/internal/action",
		"cmd/raymond/internal/simulation",
		"cmd/raymond/internal/reports cmd/raymond/internal/rerun cmd/raymond/internal/session",
		"cmd/raymond/internal/answers cmd/raymond/internal/confine cmd/raymond/internal/lint cmd/raymond/internal/runs",
		"cmd/raymond/internal/onecage cmd/raymond/internal/options cmd/raymond/internal/scope",
		"cmd/raymond/internal/checkpoints cmd/raymond/internal/parts cmd/raymond/internal/questions cmd/raymond/internal/sticky",
		"cmd/raymond/internal/conversations cmd/raymond/internal/snapshots",
		"cmd/raymond/internal/seal",
		"cmd/raymond/internal/gitguard cmd/raymond/internal/agentcli cmd/raymond/internal/claims cmd/raymond/internal/job cmd/raymond/internal/jobfile cmd/raymond/internal/notes cmd/raymond/internal/outlook cmd/raymond/internal/owncode " +
			"cmd/raymond/internal/places cmd/raymond/internal/problem cmd/raymond/internal/redispatch",
	},
	"runner": {
		"runner/simulate",
		"runner/agents",
		"runner/claude runner/codex runner/command runner/gemini runner/insight/page runner/report runner/shell runner/traces runner/verify",
		"runner/claude/transcript runner/codex/rollout",
		"runner/insight runner/internal/program runner/transcripts",
		"runner runner/keyproxy runner/diagram runner/prices",
		"runner/claude/messages runner/codex/responses runner/gemini/generate runner/claude/permit runner/claude/pin runner/codex/pin runner/gemini/pin runner/internal/proc runner/internal/reel",
		"runner/pinned runner/tally",
	},
	"artifacts": {
		"artifacts/slots",
		"artifacts/checkpoint artifacts/workspace",
		"artifacts",
	},
}

// floorOf returns how far below the highest floor of a tree a package is, -1 if it
// is not in the tree.
func floorOf(tree, pkg string) int {
	return slices.IndexFunc(floors[tree], func(line string) bool { return slices.Contains(strings.Fields(line), pkg) })
}

// TestImportsRunDownward also finds packages that have no floor, and floors with
// packages that are gone. Packages for tests have no floor.
func TestImportsRunDownward(t *testing.T) {
	imported := importsOf(t)
	for tree, lines := range floors {
		for pkg, paths := range imported {
			if inTree := pkg == tree || strings.HasPrefix(pkg, tree+"/"); !inTree || isForTests(pkg) {
				continue
			}
			own := floorOf(tree, pkg)
			if own < 0 {
				t.Errorf("package %q has no floor in the tree %s", pkg, tree)
			}
			for _, path := range paths {
				other := floorOf(tree, strings.TrimPrefix(path, module+"/"))
				if other >= 0 && other <= own {
					t.Errorf("package %q imports %s, which is not on a lower floor", pkg, path)
				}
			}
		}
		for _, pkg := range strings.Fields(strings.Join(lines, " ")) {
			if _, ok := imported[pkg]; !ok {
				t.Errorf("package %q has a floor in the tree %s, but is not in the repository", pkg, tree)
			}
		}
	}
}

// TestCorePackagesKnowLittleOfStrangers: of the packages that deal with what others
// wrote, the language uses the one for archives, and the state of a run the one for
// JSON and the one that opens files, which agents may have replaced.
func TestCorePackagesKnowLittleOfStrangers(t *testing.T) {
	const untrusted = module + "/internal/untrusted"
	allowed := map[string][]string{"protocol": {"archive"}, "state": {"jsonstrict", "files"}}
	for pkg, paths := range importsOf(t) {
		for _, path := range paths {
			if may, core := allowed[pkg]; core && foreignModule(path, []string{untrusted}) != "" && !slices.Contains(may, strings.TrimPrefix(path, untrusted+"/")) {
				t.Errorf("package %q imports %s, and may import only %q of it", pkg, path, may)
			}
		}
	}
}

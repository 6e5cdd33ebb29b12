package workflowtest

import (
	"regexp"
	"strings"
)

// own is the name of this action. Examples and pages use it by its major version,
// which releases move, or leave a place for a commit.
const own = "raymond-action/raymond-action"

// isOwn reports whether what is used comes from our own repository.
func isOwn(name string) bool { return name == own || strings.HasPrefix(name, own+"/") }

// templateInjection: an expression becomes a part of the program text. Values go
// through env.
func templateInjection(f *File) []place {
	return f.matching("expression in a program's text; hand it over in env", func(l leaf) bool {
		program := l.key() == "run" || l.key() == "shell" || l.under("with", "script")
		return program && strings.Contains(l.node.Value, "${{")
	})
}

// keptCredentials: a checkout leaves the token in git's configuration.
func keptCredentials(f *File) []place {
	var all []place
	for _, n := range f.mappings("uses") {
		name, _ := action(value(n, "uses"))
		if name == "actions/checkout" && text(value(n, "with", "persist-credentials")) != "false" {
			all = append(all, place{n, "checkout without persist-credentials: false"})
		}
	}
	return all
}

var fullSHA = regexp.MustCompile(`^[0-9a-f]{40}$`)

// unpinnedUses: a tag of an action can be moved to other code.
func unpinnedUses(f *File) []place {
	var all []place
	for _, n := range f.uses() {
		name, ref := action(n)
		switch {
		case strings.HasPrefix(name, "./") && !strings.Contains(name, ".."):
		case fullSHA.MatchString(ref):
		case isOwn(name) && (ref == "v1" || ref == "COMMIT") && f.kind == Shown:
		default:
			all = append(all, place{n, "uses " + n.Value + ", want a full commit SHA"})
		}
	}
	return all
}

var versionComment = regexp.MustCompile(`^# v\d+\.\d+\.\d+$`)

// unversionedUses: nobody can read a SHA, and the updates of dependabot go by the comment.
func unversionedUses(f *File) []place {
	var all []place
	for _, n := range f.uses() {
		if _, ref := action(n); fullSHA.MatchString(ref) && !versionComment.MatchString(n.LineComment) {
			all = append(all, place{n, "uses " + n.Value + " with comment " + n.LineComment + ", want its version, # vX.Y.Z"})
		}
	}
	return all
}

// foreignUses: whose code runs beside the secrets.
func foreignUses(f *File) []place {
	var all []place
	for _, n := range f.uses() {
		name, _ := action(n)
		if !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "actions/") && !isOwn(name) {
			all = append(all, place{n, "uses " + n.Value + ", which is neither GitHub's nor ours"})
		}
	}
	return all
}

var commandFiles = regexp.MustCompile(`GITHUB_(ENV|PATH)\b|::set-env|::add-path`)

// writtenEnvironment: what is written there becomes the environment of every later step.
func writtenEnvironment(f *File) []place {
	return f.matching("writes GITHUB_ENV or GITHUB_PATH; use outputs, or env of the step", func(l leaf) bool {
		return l.key() == "run" && commandFiles.MatchString(l.node.Value)
	})
}

var unpinned = regexp.MustCompile(`@latest\b|\bnpx\b|\bnpm (i|install)\b|\bpip3? install\b|\b(curl|wget)\b[^\n]*\|\s*(sudo )?(ba|z)?sh\b`)

// unpinnedTools: programs that are another one tomorrow.
func unpinnedTools(f *File) []place {
	return f.matching("gets a program without a version that is checked", func(l leaf) bool {
		return l.key() == "run" && unpinned.MatchString(l.node.Value)
	})
}

// cacheInRelease: what another job put into a cache must not get into a release,
// which is what a workflow that may sign is for.
func cacheInRelease(f *File) []place {
	if !f.signs() {
		return nil
	}
	off := map[string]string{"actions/setup-go": "cache", "actions/setup-node": "package-manager-cache"}
	var all []place
	for _, n := range f.mappings("uses") {
		name, _ := action(value(n, "uses"))
		switch {
		case name == "actions/cache" || strings.HasPrefix(name, "actions/cache/"):
			all = append(all, place{n, "cache in a workflow that signs"})
		case off[name] != "" && text(value(n, "with", off[name])) != "false":
			all = append(all, place{n, name + " without " + off[name] + ": false in a workflow that signs"})
		}
	}
	return all
}

// signs reports whether a job may sign, or publish packages.
func (f *File) signs() bool {
	for _, n := range f.mappings("permissions") {
		p := value(n, "permissions")
		for _, scope := range []string{"id-token", "attestations", "packages"} {
			if text(value(p, scope)) == "write" {
				return true
			}
		}
	}
	return false
}

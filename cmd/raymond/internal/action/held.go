package action

import (
	"errors"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// checkHeld refuses a step whose agents would have more than they may have, whatever their cage holds.
func checkHeld(s *step, f *scope.Scope) error {
	hasPrompts := !s.in.NoPrompts && f.HasPromptsOf(s.options.Jobs)
	err := errors.Join(session.CheckScriptEnv(s.options, f, hasPrompts, s.unheld()), checkAfterAgents(s, f))
	if s.options.Cage.IsOff() {
		return err
	}
	if hasPrompts {
		err = errors.Join(err, checkSelf(s))
	}
	if hasPrompts || f.HasCaged(s.options.Jobs) {
		err = errors.Join(err, checkLogins(s))
	}
	return err
}

// unheld says why agents aren't held where a cage is wanted; "" where they are.
func (s *step) unheld() string {
	if s.in.AllowSudo {
		return "allow-sudo: true means no cage"
	}
	return session.Unheld()
}

// checkSelf refuses agents that could write the JavaScript of the step's post part.
func checkSelf(s *step) error {
	own := cage.Resolve(s.actionFolder())
	if own == "" || s.in.TrustSelf || !cage.IsWithin(own, cage.Resolve(s.dirs.top)) {
		return nil
	}
	return problem.Usage("uses", "the action lies in the workspace ("+s.actionFolder()+"), where agents can change what its post part runs",
		"use a version of it, as in uses: OWNER/REPOSITORY@v1, or set trust-self: true")
}

// maxConfig is how much is read of a repository's settings, in bytes.
const maxConfig = 1 << 20

// keptLogin is how actions/checkout keeps its token in a repository's settings.
var keptLogin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[^#;\n]*\bextraheader[ \t]*=[ \t]*[^ \t\r\n]|^[ \t]*path[ \t]*=[^\n]*\bgit-credentials-[^/\n]*\.config`)
})

// checkLogins refuses agents and caged scripts where the workspace holds a login, which they could read.
func checkLogins(s *step) error {
	repositories, _ := workspace.Folders(s.dirs.work)
	for _, pattern := range []string{".git", "*/.git", "*/*/.git"} {
		found, _ := filepath.Glob(filepath.Join(s.dirs.top, pattern)) // of which none is wrong
		repositories = append(repositories, found...)
	}
	for _, dir := range repositories {
		config := filepath.Join(dir, "config")
		if data, _, err := files.Read(config, maxConfig); err == nil && keptLogin().Match(data) {
			return heldLogin(config, "the checkout keeps its token there", "set persist-credentials: false at actions/checkout")
		}
	}
	if job.UsesVertex(s.env.Environ) {
		return nil
	}
	for _, dir := range []string{s.dirs.top, s.dirs.work} {
		if found, _ := filepath.Glob(filepath.Join(dir, "gha-creds-*.json")); len(found) > 0 {
			return heldLogin(found[0], "is a login of Google's cloud", "log in in a job of its own, or set create_credentials_file: false at google-github-actions/auth (and persist-credentials: false at actions/checkout)")
		}
	}
	return nil
}

func heldLogin(file, what, hint string) error {
	return &problem.Problem{Class: problem.ClassDenied, Where: file, What: what + ", and every agent and script of the workflow could read it", Hint: hint}
}

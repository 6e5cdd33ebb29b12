package session

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// WithoutVariables returns an environment without some of its variables.
func WithoutVariables(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

// WhyNotConfined says why this system can't keep from agents what others have, whatever they may reach; "" where it can.
func WhyNotConfined() string {
	for _, lack := range cage.Gaps(cage.Policy{Network: cage.Network{IsOpen: true}}) {
		if lack.IsMajor {
			return lack.Text
		}
	}
	return ""
}

// CheckScriptEnv reports variables for trusted scripts that no script of the run's jobs would get, or that
// its agents could get as well. unheld says why agents aren't held, "" where they are.
func CheckScriptEnv(o *options.Options, s *scope.Scope, hasPrompts bool, unheld string) error {
	where := o.FlagName("script-env")
	switch {
	case len(o.ScriptEnv) == 0:
		return nil
	case !s.HasTrustedScripts(o.Jobs) && (!o.Resumes || o.IsGiven("script-env")):
		return problem.Usage(where, "is for trusted scripts, and there is none in the jobs that run here", "leave it out, or begin the script that needs it with # raymond: trusted=true")
	case hasPrompts && !o.Cage.IsOff() && unheld != "":
		return &problem.Problem{Class: problem.ClassDenied, Where: where, What: "can't be kept from agents here: " + unheld,
			Hint: "run the trusted scripts in a job of their own (job: publish with prompts: false), or set cage: off if agents may have what it names"}
	}
	return nil
}

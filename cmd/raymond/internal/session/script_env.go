package session

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// WithoutVariables returns a copy of environ without the variables that names lists.
func WithoutVariables(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

// WhyNotConfined returns why this system can't confine agents to their own files and processes. It
// returns "" if it can.
func WhyNotConfined() string {
	for _, lack := range cage.Gaps(cage.Policy{Network: cage.Network{IsOpen: true}}) {
		if lack.IsMajor {
			return lack.Text
		}
	}
	return ""
}

// CheckScriptEnv checks the variables in --script-env, which only trusted scripts may get. It returns an
// error if the run's jobs have no trusted script, or if agents could read the variables too. unheld is
// the reason why this system can't confine agents. It is empty if the system can.
func CheckScriptEnv(o *options.Options, s *scope.Scope, hasPrompts bool, unheld string) error {
	where := o.FlagName("script-env")
	switch {
	case len(o.ScriptEnv) == 0:
		return nil
	case !s.HasTrustedScripts(o.Jobs) && (!o.Resumes || o.IsGiven("script-env")):
		return problem.Usage(where, "is for trusted scripts, but the jobs that run here have none", "remove it, or begin the script that needs it with # raymond: trusted=true")
	case hasPrompts && !o.Cage.IsOff() && unheld != "":
		return &problem.Problem{Class: problem.ClassDenied, Where: where, What: "can't be kept secret from agents here: " + unheld,
			Hint: "run the trusted scripts in a separate job (job: publish with prompts: false), or set cage: off if agents may see these variables"}
	}
	return nil
}

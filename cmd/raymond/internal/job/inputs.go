package job

import (
	"cmp"
	"strconv"
	"strings"
)

// InputSpec is one input of the Action, as action.yml declares it.
type InputSpec struct {
	Name     string // as written below with:
	Flag     string // the flag of raymond run that it sets; "" for an input of the Action's own
	Text     string // what it is for, in a sentence or two
	Default  string // what the runner gives when nothing is written; "" for nothing
	Lines    bool   // one value a line
	Bool     bool   // true or false
	Required bool
	Secret   bool  // its value is in no message
	check    check // of a value that is not the default; nil: anything is right, or it is a flag
}

// OutputSpec is one output of the Action, as action.yml declares it.
type OutputSpec struct{ Name, Text string }

// hostedDeadline is the deadline on runners of GitHub's, which end a job after
// six hours: time is left to save.
const hostedDeadline = "5h30m"

// InputValue returns an input as the runner hands it over, without white space around
// it. getenv looks up an environment variable.
func InputValue(getenv func(string) string, name string) string {
	return strings.TrimSpace(getenv(InputVariable(name)))
}

// InputVariable returns the name of the environment variable that an input comes in: the runner turns
// blanks into underscores and leaves hyphens.
func InputVariable(name string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
}

// Arguments returns the flags of raymond run that the inputs set, each in one
// argument. They are not checked: whoever reads the flags does that, for all of
// them at once, and FlagInput tells what input a flag came from.
func Arguments(getenv func(string) string) []string {
	var args []string
	for _, in := range inputs {
		if in.Flag == "" {
			continue
		}
		for _, v := range flagValues(getenv, in) {
			args = append(args, in.Flag+"="+v)
		}
	}
	return args
}

// flagValues are the values that an input gives its flag.
func flagValues(getenv func(string) string, in InputSpec) []string {
	v := InputValue(getenv, in.Name)
	switch {
	case v == "" && in.Flag == "--deadline" && getenv("RUNNER_ENVIRONMENT") == "github-hosted":
		return []string{hostedDeadline}
	case v == "":
		return nil
	case in.Lines:
		return lines(v)
	}
	if b, ok := truth(v); in.Bool && ok {
		v = strconv.FormatBool(b)
	}
	return []string{v}
}

// FlagLabel names a flag in problems by its input.
func FlagLabel(flag string) string { return "input " + cmp.Or(InputOfFlag("--"+flag), flag) }

// InputOfFlag returns the name of the input that sets a flag such as "--budget", or
// "" if none does.
func InputOfFlag(flag string) string {
	for _, in := range inputs {
		if in.Flag != "" && in.Flag == flag {
			return in.Name
		}
	}
	return ""
}

// lines are the lines of a value that are not blank, trimmed.
func lines(v string) []string {
	var out []string
	for line := range strings.Lines(v) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// UnknownInputs reports what is written below with: and is no input: the runner
// itself only warns of it. environ has the form of os.Environ. Values are not in
// the problems, since nobody can know what they are.
func UnknownInputs(environ []string) []InputProblem {
	known := map[string]bool{}
	var names []string
	for _, in := range inputs {
		known[InputVariable(in.Name)] = true
		names = append(names, in.Name)
	}
	var problems []InputProblem
	for _, kv := range environ {
		env, _, _ := strings.Cut(kv, "=")
		rest, ours := strings.CutPrefix(strings.ToUpper(env), "INPUT_")
		if !ours || known[strings.ToUpper(env)] {
			continue
		}
		name := strings.ToLower(rest)
		hint := cmp.Or(nearest(name, names), "docs/inputs.md has all of them")
		problems = append(problems, InputProblem{Input: name, What: "is no input of this action", Hint: hint})
	}
	return problems
}

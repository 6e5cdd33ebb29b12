package job

import (
	"cmp"
	"strconv"
	"strings"
)

// InputSpec describes one input of the Action, as action.yml declares it.
type InputSpec struct {
	Name     string // the name below with:
	Flag     string // the flag of raymond run that it sets; "" for none
	Text     string // its description, one or two sentences
	Default  string // the value that the runner passes if the input is not set; "" for none
	Lines    bool   // one value per line
	Bool     bool   // true or false
	Required bool
	Secret   bool  // no message contains its value
	check    check // checks a value that is not the default; nil: all values are valid, or the flag is checked
}

// OutputSpec describes one output of the Action, as action.yml declares it.
type OutputSpec struct{ Name, Text string }

// hostedDeadline is the default deadline on GitHub's runners, which end a job after six hours. It
// leaves time to save the run.
const hostedDeadline = "5h30m"

// InputValue returns the value of an input, without white space around it. getenv looks up an
// environment variable.
func InputValue(getenv func(string) string, name string) string {
	return strings.TrimSpace(getenv(InputVariable(name)))
}

// InputVariable returns the name of the environment variable of an input. The runner replaces spaces
// by underscores, but not hyphens.
func InputVariable(name string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
}

// Arguments returns the flags of raymond run that the inputs set, one argument each. They are not
// checked: the reader of the flags reports all problems at once, and InputOfFlag finds the input that
// sets a flag.
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

// flagValues returns the values that an input passes to its flag.
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
	if b, ok := parseBool(v); in.Bool && ok {
		v = strconv.FormatBool(b)
	}
	return []string{v}
}

// FlagLabel returns how problems name a flag: by its input.
func FlagLabel(flag string) string { return "input " + cmp.Or(InputOfFlag("--"+flag), flag) }

// InputOfFlag returns the name of the input that sets a flag like "--budget"; "" if none does.
func InputOfFlag(flag string) string {
	for _, in := range inputs {
		if in.Flag != "" && in.Flag == flag {
			return in.Name
		}
	}
	return ""
}

// lines returns the lines of a value that are not blank, trimmed.
func lines(v string) []string {
	var out []string
	for line := range strings.Lines(v) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// UnknownInputs reports names below with: that are not inputs; the runner itself only warns of them.
// environ has the form of os.Environ. The problems don't quote the values, which may be secret.
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
		hint := cmp.Or(nearest(name, names), "docs/inputs.md lists all inputs")
		problems = append(problems, InputProblem{Input: name, What: "is not an input of this action", Hint: hint})
	}
	return problems
}

package job

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// InputSpec describes one input of the Action, as action.yml declares it.
type InputSpec struct {
	Name     string // name of the input, as written below with:
	Flag     string // the flag of raymond run that the input sets, if any
	Text     string // description of the input
	Default  string // the value that the runner passes if the input is not set
	Lines    bool   // the value is a list with one entry per line
	Bool     bool   // the value is true or false
	Required bool
	Secret   bool  // no message may contain the value
	check    check // checks values other than the default; if nil, any value is valid here
}

// OutputSpec describes one output of the Action, as action.yml declares it.
type OutputSpec struct{ Name, Text string }

// hostedDeadline is the default deadline on GitHub-hosted runners. GitHub ends their jobs after six
// hours, so the deadline leaves time to save the run.
const hostedDeadline = "5h30m"

// InputValue returns the value of an input, without white space at its ends. getenv returns the value
// of an environment variable.
func InputValue(getenv func(string) string, name string) string {
	return strings.TrimSpace(getenv(InputVariable(name)))
}

// InputVariable returns the name of the environment variable that contains an input. The runner
// replaces spaces in the input's name with underscores, but keeps hyphens.
func InputVariable(name string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
}

// Arguments returns the flags of raymond run that the inputs set, with one argument for each flag.
// Their values are not checked here: the code that parses the flags reports all problems, and
// InputOfFlag returns the input that sets a flag.
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
	_, paths, _ := parseCLIs(InputValue(getenv, "clis"))
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		args = append(args, "--"+name+"="+paths[name])
	}
	more, _ := parseArgs(InputValue(getenv, "args"))
	return append(args, more...)
}

// flagValues returns the values that an input passes to its flag. An empty input passes none, except
// that deadline has a default on GitHub-hosted runners.
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

// FlagLabel returns the name that problems with a flag use: the input that sets the flag, followed by the
// flag if the input is args.
func FlagLabel(flag string) string {
	input := cmp.Or(InputOfFlag("--"+flag), flag)
	if input == "args" {
		input += ": --" + flag
	}
	return "input " + input
}

// InputOfFlag returns the name of the input that sets a flag like "--budget". It returns "" if no input
// sets the flag.
func InputOfFlag(flag string) string {
	switch name, isFlag := strings.CutPrefix(flag, "--"); {
	case isFlag && slices.Contains(argsFlags, name):
		return "args"
	case isFlag && slices.Contains(cliNames(), name):
		return "clis"
	}
	for _, in := range inputs {
		if in.Flag != "" && in.Flag == flag {
			return in.Name
		}
	}
	return ""
}

// lines splits a value into lines, trims them, and leaves out blank lines.
func lines(v string) []string {
	var out []string
	for line := range strings.Lines(v) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// UnknownInputs returns a problem for each name below with: that is not an input. The runner itself only
// warns about such names. environ has the format of os.Environ. The problems contain a value only if it
// belongs to a flag or to an agent CLI; other values may be secret.
func UnknownInputs(environ []string) []InputProblem {
	known := map[string]bool{}
	for _, in := range inputs {
		known[InputVariable(in.Name)] = true
	}
	var problems []InputProblem
	for _, kv := range environ {
		env, value, _ := strings.Cut(kv, "=")
		rest, ours := strings.CutPrefix(strings.ToUpper(env), "INPUT_")
		if !ours || known[strings.ToUpper(env)] {
			continue
		}
		name := strings.ToLower(rest)
		problems = append(problems, InputProblem{Input: name, What: "is not an input of this action", Hint: insteadOf(name, shorten(text.Line(strings.TrimSpace(value))))})
	}
	return problems
}

// withoutInput explains, for things that no input changes, how they are.
var withoutInput = map[string]string{
	"summary":              "the step summary is always written",
	"annotations":          "failures, warnings and the result are always annotated",
	"suspended-is-failure": "a suspended run does not fail the step; a later step can read the output status",
	"max-continuations":    "continue: redispatch starts the workflow at most " + strconv.Itoa(maxContinuations) + " times in a row",
	"checkpoint-interval":  "checkpoints are stored at least a minute apart",
}

// insteadOf returns a hint for the user who has set an unknown input.
func insteadOf(name, value string) string {
	cli := strings.TrimSuffix(strings.TrimSuffix(name, "-version"), "-path")
	var names []string
	for _, in := range inputs {
		names = append(names, in.Name)
	}
	switch {
	case withoutInput[name] != "":
		return "remove it: " + withoutInput[name]
	case slices.Contains(argsFlags, name):
		return "write args: --" + name + "=" + value
	case cli != name && slices.Contains(cliNames(), cli):
		return "write clis: " + cli + "=" + value
	}
	return cmp.Or(nearest(name, names), "docs/inputs.md lists all inputs")
}

package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/clis"
)

// argsFlags are the flags of raymond run that the input args may contain. None of them determines what
// runs, what agents may do, or which file is read or written. switches are those without a value.
var (
	argsFlags = []string{
		"skip-lint", "max-parallel", "max-retries", "max-reminders", "overload-wait", "on-overload", "hold", "max-agents", "max-depth",
		"timeout", "idle-timeout", "grace", "max-attempts", "effort", "history", "keep-going", "verbose",
	}
	switches = []string{"skip-lint", "keep-going", "verbose"}
)

// argsWord matches a word of the input args, which may have quoted parts. quoted matches such a part.
var (
	argsWord = text.Regexp(`(?:[^\s'"]|'[^']*'|"[^"]*")+`)
	quoted   = text.Regexp(`'([^']*)'|"([^"]*)"`)
)

// parseArgs parses the input args. It returns one argument such as --timeout=20m for each flag, or the
// problems. It does not check the values of flags.
func parseArgs(v string) (args []string, found []InputProblem) {
	if strings.Contains(v, "${{") {
		return nil, problemWith(v, "contains an expression, whose value could add flags", "write the values of flags into the workflow file")
	}
	if strings.TrimSpace(argsWord().ReplaceAllString(v, "")) != "" {
		return nil, problemWith(v, "contains a quote that is not closed", "")
	}
	reject := func(what, hint string) { found = append(found, InputProblem{What: what, Hint: hint}) }
	words := argsWord().FindAllString(v, -1)
	for i := 0; i < len(words); i++ {
		word := quoted().ReplaceAllString(words[i], "$1$2")
		flag, _, hasValue := strings.Cut(word, "=")
		name, isFlag := strings.CutPrefix(flag, "--")
		switch {
		case !isFlag:
			reject(fmt.Sprintf("%q is not a flag", shorten(word)), "write --FLAG=VALUE")
		case !slices.Contains(argsFlags, name):
			reject(shorten(text.Line(flag))+" is not accepted here", "other settings are inputs; args accepts only --"+strings.Join(argsFlags, ", --"))
		case hasValue:
			args = append(args, word)
		case slices.Contains(switches, name):
			args = append(args, word+"=true")
		case i+1 == len(words):
			reject(flag+" has no value", "")
		default:
			i++
			args = append(args, word+"="+quoted().ReplaceAllString(words[i], "$1$2"))
		}
	}
	if len(found) > 0 {
		return nil, found
	}
	return args, nil
}

// areArgs checks the input args.
func areArgs(v string) []InputProblem {
	_, found := parseArgs(v)
	return found
}

// parseCLIs parses the input clis, whose lines have the form NAME=VERSION or NAME=PATH. It returns the
// versions and the paths by backend, and the problems.
func parseCLIs(v string) (versions, paths map[string]string, found []InputProblem) {
	versions, paths = map[string]string{}, map[string]string{}
	names := cliNames()
	for _, line := range lines(v) {
		name, is, _ := strings.Cut(line, "=")
		switch {
		case !slices.Contains(names, name):
			found = append(found, problemWith(line, "begin the line with "+strings.Join(names, "=, ")+"=", nearest(name, names))...)
		case versions[name]+paths[name] != "":
			found = append(found, problemWith(line, "sets "+name+" again", "use one line for each agent CLI")...)
		case isExactVersion(is):
			versions[name] = is
		case strings.ContainsAny(is, `/\`):
			paths[name] = is
		default:
			found = append(found, problemWith(line, "use an exact version or a path", "as in claude=2.1.330 or claude=/opt/claude")...)
		}
	}
	return versions, paths, found
}

// areCLIs checks the input clis.
func areCLIs(v string) []InputProblem {
	_, _, found := parseCLIs(v)
	return found
}

// cliNames returns the names of the agent CLIs that can be installed.
func cliNames() (names []string) {
	for _, cli := range clis.Installable() {
		names = append(names, cli.Abilities.Backend)
	}
	return names
}

package permit

import (
	"slices"
	"strings"
)

// remedy is what can be done about a refusal, as far as its reason tells.
type remedy int

const (
	noRule    remedy = iota // the CLI refuses it whatever is allowed
	partRules               // a rule for each of the parts that it names
	lineRules               // a rule for each of the commands
	wholeRule               // it can't take the command apart: only a rule for all of it
)

// tellingNothing are reasons that are said of everything in some permission mode.
var tellingNothing = []string{"don't ask mode"}

// inOneRule are the beginnings of reasons for which a rule that names the command
// whole helps, in the words of the versions that are tested.
var inOneRule = []string{
	"Contains simple_expansion", "Contains expansion", "Contains command_substitution", "Contains process_substitution", "Contains subshell",
	"Contains compound_statement", "Contains string_expansion", "Contains backslash-escaped whitespace", "Brace expansion",
	"Unhandled node type", "find with '-",
}

// isWhole tells reasons of newer versions by how they end. A function and a case
// are refused even so.
func isWhole(reason string) bool {
	if strings.Contains(reason, "function definition") || strings.Contains(reason, "case statement") {
		return false
	}
	return strings.HasSuffix(reason, "can't be checked before it runs") || strings.HasSuffix(reason, "evaluates arguments as shell code") ||
		strings.Contains(reason, "cannot be statically analyzed") ||
		slices.ContainsFunc(inOneRule, func(p string) bool { return strings.HasPrefix(reason, p) })
}

// remedyFor reads the CLI's own reason, which tells more than the command.
func remedyFor(reason string, l line) remedy {
	switch {
	case reason == "" || slices.ContainsFunc(tellingNothing, func(p string) bool { return strings.Contains(reason, p) }):
		if l.opaque {
			return wholeRule
		}
		return lineRules
	case strings.Contains(reason, "contains multiple operations"):
		return partRules
	case strings.HasPrefix(reason, "This command requires approval"):
		return lineRules
	case isWhole(reason):
		return wholeRule
	}
	return noRule
}

// parts finds the commands that a reason names, in their order, with commas
// between them, which a command may have too: so each has to be one of the line.
func parts(reason string, l line) ([]command, bool) {
	_, list, ok := strings.Cut(reason, " approval: ")
	if !ok {
		return nil, false
	}
	return pick(list, l.commands)
}

func pick(list string, from []command) ([]command, bool) {
	if list == "" {
		return nil, true
	}
	for i, c := range from {
		rest, ok := strings.CutPrefix(list, c.text)
		if !ok {
			continue
		}
		if next, more := strings.CutPrefix(rest, ", "); more || rest == "" {
			if picked, ok := pick(next, from[i+1:]); ok {
				return append([]command{c}, picked...), true
			}
		}
	}
	return nil, false
}

package claude

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

const (
	maxReasons    = 1000 // uses of tools of which it is kept why they failed
	longestReason = 8192
	maxDenied     = 100 // refused uses in an answer
)

// reasons are why uses of tools failed, in the words of the CLI, by the use's id.
// Whether a use was refused, only the result record tells.
type reasons map[string]string

// add keeps the reason for a use that failed.
func (r reasons) add(use, why string) {
	if use != "" && why != "" && len(r) < maxReasons {
		r[use] = why[:min(len(why), longestReason)]
	}
}

// maxRules are how many rules are named for the parts of a command.
const maxRules = 8

// rulesFor returns the plain rules for a refused use: of a command of several parts one for
// each that the CLI names; none where its reason is another than a missing rule.
func rulesFor(use denial, why string) []string {
	var input struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(use.Input, &input, lenient) // what can't be read is no command
	commands := []string{input.Command}
	_, parts, isOfParts := strings.Cut(why, " approval: ")
	switch {
	case isOfParts:
		commands = strings.Split(parts, ", ")
	case why == "", strings.HasPrefix(why, "This command requires approval"), strings.HasSuffix(why, "but you haven't granted it yet."),
		strings.Contains(why, "don't ask mode"):
	default:
		return nil
	}
	var rules []string
	for _, command := range commands[:min(len(commands), maxRules)] {
		rules = append(rules, program.PlainRule(use.Tool, command))
	}
	return rules
}

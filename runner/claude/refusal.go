package claude

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

const (
	maxReasons    = 1000 // uses of tools whose reason for failing is stored
	longestReason = 8192
	maxDenied     = 100 // refused uses in an answer
)

// reasons are the CLI's explanations why uses of tools failed, by the id of the use. Only the result
// record says whether a use was refused.
type reasons map[string]string

// add stores the reason why a use failed.
func (r reasons) add(use, why string) {
	if use != "" && why != "" && len(r) < maxReasons {
		r[use] = why[:min(len(why), longestReason)]
	}
}

// maxRules bounds the rules that are suggested for the parts of a command.
const maxRules = 8

// rulesFor returns plain rules that would allow a refused use. For a command of several parts it
// returns a rule for each part that the CLI names. It returns none if the use was refused for another
// reason than a missing rule.
func rulesFor(use denial, why string) []string {
	var input struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(use.Input, &input, lenient) // an input that can't be decoded has no command
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

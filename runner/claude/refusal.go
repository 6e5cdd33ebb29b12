package claude

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

const (
	maxReasons = 1000 // maximum number of failed tool calls whose reason is stored
	// longestReason is the maximum length in bytes of a stored reason.
	longestReason = 8192
	maxDenied     = 100 // maximum number of denied tool calls in an answer
)

// reasons contains the CLI's explanations why tool calls failed, by the ids of the calls. Only the
// result record says which of these calls were denied.
type reasons map[string]string

// add stores the reason why a tool call failed.
func (r reasons) add(use, why string) {
	if use != "" && why != "" && len(r) < maxReasons {
		r[use] = why[:min(len(why), longestReason)]
	}
}

// maxRules is the maximum number of rules that are suggested for one command.
const maxRules = 8

// rulesFor returns plain rules that would allow a denied tool call. If the CLI lists several parts of a
// command that need approval, it returns a rule for each part. It returns nil if the call was denied for
// another reason than a missing rule.
func rulesFor(use denial, why string) []string {
	var input struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(use.Input, &input, lenient) // if the input can't be decoded, the command is empty
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

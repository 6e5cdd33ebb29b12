package diagram

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/state"
)

// Path is the part of a run's history that a diagram shows.
type Path struct {
	States   map[string]int // number of state executions that have started, by state
	Attempts map[string]int // number of attempts that done_when commands have judged, by state
	Moves    map[Move]int
	Agents   []Agent
	IsOver   bool // the run has ended or is suspended
}

// Move is a transition from one state to another.
type Move struct {
	From, To string // To is empty if the agent ended
	Kind     Kind
}

// Agent describes at which state an agent is. Only agents that have not ended are listed.
type Agent struct {
	State    string
	IsFailed bool
	// Waits is the reason for which the agent waits before the state starts. It is empty if the
	// agent does not wait.
	Waits state.WaitFor
}

// presence describes the agents that are at one state.
type presence struct {
	hasWorking, hasFailed bool
	// waits contains the reasons for which agents wait before the state starts, without duplicates.
	waits []state.WaitFor
}

// at returns which agents are at a state, and whether they work, wait or have failed.
func (p *Path) at(name string) presence {
	var here presence
	for _, a := range p.Agents {
		switch {
		case a.State != name:
		case a.IsFailed:
			here.hasFailed = true
		case a.Waits == "":
			here.hasWorking = true
		case !slices.Contains(here.waits, a.Waits):
			here.waits = append(here.waits, a.Waits)
		}
	}
	slices.Sort(here.waits)
	return here
}

// maxName is the maximum number of characters of a label's text. Longer texts are cut in the middle.
const maxName = 40

// label escapes a text for a quoted Mermaid label. Mermaid interprets labels in its own syntax,
// then as Markdown, and then as HTML. Characters without a meaning in any of these are not changed;
// others are replaced with numeric entities.
func label(text string) string {
	runes := []rune(strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	if len(runes) > maxName {
		const tail = maxName / 3
		head := runes[:maxName-tail-1]
		runes = append(append(append([]rune{}, head...), '…'), runes[len(runes)-tail:]...)
	}
	var b strings.Builder
	for i, r := range runes {
		switch {
		case isSafe(r) || isInner(runes, i):
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			// A hidden line break or a changed text direction would mislead readers.
			b.WriteRune(unicode.ReplacementChar)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// isSafe reports whether a character has no special meaning anywhere in a label.
func isSafe(r rune) bool {
	if r < utf8.RuneSelf {
		return isPlain(r)
	}
	const joiner = '\u200d' // zero-width joiner, which combines several characters into one emoji
	if r == '°' {
		return false // Mermaid uses degree signs in its own encoding of entities
	}
	return r == '…' || r == joiner || r == unicode.ReplacementChar || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.So)
}

// isPlain reports whether r is an ASCII letter or digit.
func isPlain(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// isInner reports whether the rune at index i is a space, a dot, a dash or an underscore between
// letters or digits. There, Markdown does not interpret it. A dot after "www" is excluded, since it
// starts a link.
func isInner(runes []rune, i int) bool {
	isWeb := runes[i] == '.' && strings.HasSuffix(strings.ToLower(string(runes[:i])), "www")
	return strings.ContainsRune(" ._-", runes[i]) && !isWeb && i > 0 && i < len(runes)-1 && isPlain(runes[i-1]) && isPlain(runes[i+1])
}

package shell

import (
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

const (
	// tailSize is how many of the last bytes of an output are kept, and wordsSize
	// how many of them an error quotes.
	tailSize  = 4096
	wordsSize = 400
	// window is how much of the end of an output is looked at: what hiding secrets
	// takes away leaves a tail of its size, and a secret that the window cuts in
	// two does not come near the tail.
	window = 4 * tailSize
)

// newTail keeps the end of an output.
func newTail() *proc.Tail { return &proc.Tail{Max: window} }

// end returns the last tailSize bytes of an output, with secrets hidden before it is cut, and whether any before them were
// dropped. hide may be nil; env is the environment in which the secrets are.
func end(output *proc.Tail, env []string, hide func(string) string) (string, bool) {
	said := string(output.Bytes())
	if output.Truncated() {
		said = secrets.NewRedactor(env).Tail(said)
	}
	if hide != nil {
		said = hide(said)
	}
	said = strings.ToValidUTF8(said, string(unicode.ReplacementChar))
	last := text.Suffix(said, tailSize)
	return last, output.Truncated() || len(last) < len(said)
}

// lastWords are the ends of both outputs in one line, as the end of an error.
func lastWords(stdout, stderr string) string {
	words := ""
	for _, s := range []struct{ name, output string }{{"stdout", stdout}, {"stderr", stderr}} {
		if said := strings.TrimSpace(text.LastLines(strings.TrimSpace(s.output), wordsSize)); said != "" {
			words += "; " + s.name + ": " + text.Escape(said)
		}
	}
	return words
}

package shell

import (
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

const (
	// tailSize is how many bytes are kept of the end of an output. wordsSize is how many bytes of
	// that end an error quotes.
	tailSize  = 4096
	wordsSize = 400
	// window is how many bytes of the end of an output are examined. It is larger than tailSize,
	// so that enough text is left when secrets have been hidden. A secret that is cut in two at
	// the beginning of the window is outside of the tail.
	window = 4 * tailSize
)

// newTail returns a writer that keeps the end of an output.
func newTail() *proc.Tail { return &proc.Tail{Max: window} }

// end returns the last tailSize bytes of an output, and whether earlier bytes were dropped. It
// hides secrets before it cuts the text. hide may be nil; env is the environment that contains
// the secrets.
func end(output *proc.Tail, env []string, hide func(string) string) (string, bool) {
	tail := string(output.Bytes())
	if output.Truncated() {
		tail = secrets.NewRedactor(env).Tail(tail)
	}
	if hide != nil {
		tail = hide(tail)
	}
	tail = strings.ToValidUTF8(tail, string(unicode.ReplacementChar))
	last := text.Suffix(tail, tailSize)
	return last, output.Truncated() || len(last) < len(tail)
}

// lastWords returns the ends of both outputs in one line, which is appended to an error message.
func lastWords(stdout, stderr string) string {
	words := ""
	for _, s := range []struct{ name, output string }{{"stdout", stdout}, {"stderr", stderr}} {
		if last := strings.TrimSpace(text.LastLines(strings.TrimSpace(s.output), wordsSize)); last != "" {
			words += "; " + s.name + ": " + text.Escape(last)
		}
	}
	return words
}

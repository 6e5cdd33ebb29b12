package shell

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
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

// end returns the last bytes of an output, with secrets hidden before it is cut.
func (b Backend) end(o runner.Order, output string) string {
	if len(output) >= window-utf8.UTFMax {
		output = secrets.NewRedactor(slices.Concat(b.Env, b.Trusted)).End(output[max(0, len(output)-window):])
	}
	if o.Hide != nil {
		output = o.Hide(output)
	}
	return text.After(strings.ToValidUTF8(output, string(unicode.ReplacementChar)), tailSize)
}

// lastWords are the ends of both outputs in one line, as the end of an error.
func lastWords(stdout, stderr string) string {
	words := ""
	for _, s := range []struct{ name, output string }{{"stdout", stdout}, {"stderr", stderr}} {
		if said := strings.TrimSpace(text.End(strings.TrimSpace(s.output), wordsSize)); said != "" {
			words += "; " + s.name + ": " + text.Escaped(said)
		}
	}
	return words
}

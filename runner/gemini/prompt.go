package gemini

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// maxPrompt is how much of its standard input the CLI reads, in bytes.
const maxPrompt = 8 << 20

// plain returns a prompt as the CLI must be given it so that the model sees what it says, and
// nothing else.
//
// An "@" before the name of a file in dir would attach that file, or a whole folder; one before
// an address would ask a server of tools for it: an issue's text could do so. They get the
// backslash with which the CLI lets them pass. What begins with a slash would be a command of the
// CLI; and when it takes up a conversation it drops the prompts that begin with a slash or a
// question mark, or like the texts that it adds by itself.
func plain(prompt, dir string) string {
	var b strings.Builder
	rest := prompt
	for {
		before, after, found := strings.Cut(rest, "@")
		b.WriteString(before)
		if !found {
			break
		}
		name := token(after)
		if !strings.HasSuffix(before, `\`) && attaches(name, dir) {
			b.WriteByte('\\')
			name = "" // what is in it may be meant by another
		}
		b.WriteString("@" + name)
		rest = after[len(name):]
	}
	text := b.String()
	for _, begin := range []string{"/", "?", "<session_context>", "<hook_context>"} {
		if strings.HasPrefix(strings.TrimSpace(text), begin) {
			return "Prompt:\n" + text
		}
	}
	return text
}

// longestName is how much is looked at behind an "@", in bytes: no path is longer.
const longestName = 4096

// token is the part of a text that the CLI takes for one name.
func token(text string) string {
	end := strings.IndexFunc(text[:min(len(text), longestName)], func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;!?()[]{}", r)
	})
	if end < 0 {
		end = min(len(text), longestName)
	}
	return text[:end]
}

// attaches reports whether the CLI would take a name behind an "@" for something to attach. It is
// true rather once too often.
func attaches(name, dir string) bool {
	if strings.ContainsAny(name, `"\`) || strings.Contains(name, "://") || len(name) == longestName {
		return true
	}
	for name != "" {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := os.Lstat(path); err == nil {
			return true
		}
		short := strings.TrimSuffix(name, ".") // at the end of a sentence
		if short == name {
			return false
		}
		name = short
	}
	return false
}

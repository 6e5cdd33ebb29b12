package gemini

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// maxPrompt is how many bytes of its stdin the CLI reads.
const maxPrompt = 8 << 20

// escapePrompt changes a prompt so that the CLI passes exactly its text to the model.
//
// An "@" before the name of a file in dir would attach that file or folder, and an "@" before a URL
// would query an MCP server: the text of an issue could exploit that. Such an "@" gets a backslash,
// which the CLI removes. A prompt that starts with a slash would be a command of the CLI; and when
// the CLI resumes a conversation, it drops prompts that start with a slash, a question mark or the
// texts that it adds itself. Such a prompt gets a prefix.
func escapePrompt(prompt, dir string) string {
	var b strings.Builder
	rest := prompt
	for {
		before, after, found := strings.Cut(rest, "@")
		b.WriteString(before)
		if !found {
			break
		}
		name := nameAt(after)
		if !strings.HasSuffix(before, `\`) && attaches(name, dir) {
			b.WriteByte('\\')
			name = "" // the name may contain another "@"
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

// maxPathName is how many bytes after an "@" are examined: no path is longer.
const maxPathName = 4096

// nameAt returns the beginning of a text that the CLI would read as one name.
func nameAt(text string) string {
	end := strings.IndexFunc(text[:min(len(text), maxPathName)], func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;!?()[]{}", r)
	})
	if end < 0 {
		end = min(len(text), maxPathName)
	}
	return text[:end]
}

// attaches reports whether the CLI would attach something for a name after an "@". In doubt it
// returns true.
func attaches(name, dir string) bool {
	if strings.ContainsAny(name, `"\`) || strings.Contains(name, "://") || len(name) == maxPathName {
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
		short := strings.TrimSuffix(name, ".") // the dot may end a sentence
		if short == name {
			return false
		}
		name = short
	}
	return false
}

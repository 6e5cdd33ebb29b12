package gemini

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// maxPrompt is the maximum number of bytes that the CLI reads from stdin.
const maxPrompt = 8 << 20

// escapePrompt changes a prompt so that the CLI passes exactly the original text to the model.
//
// The CLI treats some texts specially. It replaces "@" and the name of a file in dir with the
// content of that file or folder, and for "@" and a URL it queries an MCP server. The text of a
// GitHub issue could exploit this. escapePrompt adds a backslash before the "@", which the CLI
// removes.
//
// A prompt that starts with a slash is a command of the CLI. When the CLI resumes a conversation,
// it drops prompts that start with a slash, a question mark, or a text that it adds itself.
// escapePrompt adds the line "Prompt:" before these prompts.
func escapePrompt(prompt, dir string) string {
	var b strings.Builder
	rest := prompt
	for {
		before, after, found := strings.Cut(rest, "@")
		b.WriteString(before)
		if !found {
			break
		}
		name := after[:min(len(after), maxPathName)]
		end := strings.IndexFunc(name, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;!?()[]{}", r) })
		if end >= 0 {
			name = name[:end] // the CLI ends the name there
		}
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

// maxPathName is the number of bytes after an "@" that are examined. No path is longer.
const maxPathName = 4096

// attaches reports whether the CLI would attach something for a name that follows an "@". If this
// is not certain, it returns true.
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
		short := strings.TrimSuffix(name, ".") // the dot may end a sentence and not be part of the name
		if short == name {
			return false
		}
		name = short
	}
	return false
}

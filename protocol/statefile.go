package protocol

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFile is the largest size of a state file in bytes. It is far larger than any prompt that a
// model reads.
const maxFile = 16 << 20

// readState reads one file in the workflow's folder. It adds the mistakes in the file to the
// Problems of the returned state.
func (c *scope) readState(d fs.DirEntry) *State {
	s := newState(d.Name(), c)
	if !d.Type().IsRegular() {
		s.addProblem(Pos{}, "not-regular", "it is not a regular file")
		return s
	}
	data, err := ReadFile(c.fsys, d.Name())
	if err != nil {
		s.addProblem(Pos{}, "unreadable", "read the file: %v", err)
		return s
	}
	s.parse(data)
	return s
}

// hashOf returns the SHA-256 of data in hex.
func hashOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// ReadFile returns the content of a state file or a schema file. It returns an error if the file
// is larger than 16 MiB.
func ReadFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, fmt.Errorf("it is over %d MiB", maxFile>>20)
	}
	return data, err
}

// KindOf returns the kind of a state by its file name: a prompt if the extension is .md, in
// upper or lower case, and a script otherwise. The file need not exist.
func KindOf(file string) Kind {
	if _, ext := splitName(file); ext == ".md" {
		return Prompt
	}
	return Script
}

// newState returns a state without content.
func newState(name string, c *scope) *State {
	return &State{Name: name, Kind: KindOf(name), Line: 1, scope: c}
}

// byteOrderMark is the character that some editors put at the beginning of a file. It is ignored.
const byteOrderMark = "\ufeff"

// maxForeign is the size in bytes above which a key that only this program uses is no evidence that a
// file is a state. If no state names such a large file, its frontmatter is not checked before a run starts.
const maxForeign = 1 << 20

// parse fills in the state from the content of its file.
func (s *State) parse(data []byte) {
	s.SHA256 = hashOf(data)
	for at, r := range string(data) {
		if r == utf8.RuneError && !bytes.HasPrefix(data[at:], []byte("\ufffd")) {
			s.addProblem(Pos{Line: 1 + bytes.Count(data[:at], []byte("\n"))}, "not-utf8", "the text is not UTF-8 at byte offset %d", at)
			break
		}
	}
	text := strings.TrimPrefix(string(data), byteOrderMark)
	s.Body = text
	switch {
	case len(s.Problems) > 0:
	case s.Kind == Prompt:
		s.parsePrompt(text)
	default:
		s.parseScript(text)
	}
	s.Evidence.HasOwnKey = s.Evidence.HasOwnKey && len(data) <= maxForeign
	s.findTags()
	s.Evidence.HasMarker = s.Evidence.HasMarker || s.Evidence.HasOwnKey || len(s.tags) > 0
}

// parsePrompt splits the frontmatter from the body, and reads it into the policy. It also reports
// text in the body that looks like a policy or like options.
func (s *State) parsePrompt(text string) {
	front, body, fenced := splitFrontmatter(text)
	switch {
	case fenced:
		s.Body = body
		s.Line = 1 + strings.Count(text[:len(text)-len(body)], "\n")
		s.parseFrontmatter(front)
	case looksOpen(text):
		s.Evidence.HasOwnKey = true
		s.addProblem(Pos{Line: 1}, "frontmatter", "the frontmatter has no closing ---")
	}
	switch line := misplacedPolicy(s.Body, s.Line); {
	case len(s.Problems) > 0:
	case line > policyLines:
		s.addWarning(Pos{Line: line}, "ignored", "a policy begins here, but the agent gets it as text").Hint = "move its first --- to the first line of the file"
	case line > 0:
		s.Evidence.HasOwnKey = s.Evidence.HasOwnKey || !documentation().MatchString(Stem(s.Name))
		s.addProblem(Pos{Line: line}, "misplaced", "a policy begins here, not at the very top of the file, so the agent would get it as text").Hint =
			"move its first --- to the first line of the file"
	case !fenced && barePolicy(text) > 0:
		s.addWarning(Pos{Line: barePolicy(text)}, "ignored", "the agent gets this frontmatter key as text: the file does not begin with ---").Hint =
			"write the keys between two lines ---, the first one at the very top"
	}
	for i, line := range strings.SplitN(s.Body, "\n", policyLines+1) {
		if i < policyLines && isMeantAsOptions(line, Prompt) {
			s.addWarning(Pos{Line: s.Line + i}, "ignored", "the agent gets this line as text: only scripts have options").Hint = "write a frontmatter"
		}
	}
	if strings.TrimSpace(s.Body) == "" && len(s.Problems) == 0 {
		s.addProblem(Pos{Line: s.Line}, "empty", "the prompt is empty").Hint = "write what the agent should do"
	}
}

// splitFrontmatter returns the text between the two --- lines at the top, and the text after
// them. If the frontmatter is missing or incomplete, ok is false and body is the whole text.
func splitFrontmatter(text string) (front, body string, ok bool) {
	line, rest, _ := strings.Cut(text, "\n")
	if !isFence(line) {
		return "", text, false
	}
	for after := rest; after != ""; {
		line, after, _ = strings.Cut(after, "\n")
		if isFence(line) {
			front = rest[:len(rest)-len(after)]
			return front[:strings.LastIndex(front, "---")], after, true
		}
	}
	return "", text, false
}

// isFence reports whether a line is a --- line, which begins or ends a frontmatter.
func isFence(line string) bool { return strings.TrimRight(line, " \t\r") == "---" }

// looksOpen reports whether a text begins with a frontmatter that lacks its closing --- line. Such
// a text begins with a --- line and continues with a known key. Without the key, the line is a
// Markdown ruler.
func looksOpen(text string) bool {
	line, rest, _ := strings.Cut(text, "\n")
	if !isFence(line) {
		return false
	}
	block, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimLeft(rest, " \t\r\n"), "\r\n", "\n"), "\n\n")
	lines := strings.Split(block, "\n")
	return keyOf(lines[0]).name != "" || slices.ContainsFunc(lines, func(line string) bool { return keyOf(line).own })
}

// findTags sets the state's tags to the tags in the body. It skips comments in a script, because
// they are not part of the script's output.
func (s *State) findTags() {
	lines, text := strings.Split(s.Body, "\n"), unescaped(s)
	var found []ParsedTag
	if p := &s.Policy.Transitions; p.Restricted {
		found = scan(text, p.CountsVerb).tags
	} else {
		// Without a policy, an ask or a join in angle brackets that is probably prose is no tag.
		found = slices.DeleteFunc(pairUp(text, meantAsTags(tokensOf(text, anyVerb))).tags, isProse)
	}
	if s.Kind == Prompt {
		markCode(s.Body, found)
	}
	for _, t := range found {
		if s.isComment(lines[t.Pos.Line-1]) {
			continue
		}
		t.Pos.Line += s.Line - 1
		for i := range t.Problems {
			t.Problems[i].Pos = t.Pos
		}
		s.tags = append(s.tags, t)
	}
}

// isComment reports whether the state is a script and the line consists of a comment only.
func (s *State) isComment(line string) bool {
	_, ext := splitName(s.Name)
	_, ok := commentIn(line, ext)
	return ok && s.Kind == Script
}

// unescaped returns the body without the escape characters that a shell needs inside a tag. Each
// of them is replaced by a space, so that all positions stay the same.
func unescaped(s *State) string {
	switch _, ext := splitName(s.Name); ext {
	case ".sh":
		return strings.NewReplacer(`\"`, ` "`, `\<`, ` <`, `\>`, ` >`).Replace(s.Body)
	case ".ps1":
		return strings.NewReplacer("`\"", ` "`).Replace(s.Body)
	case ".bat":
		return strings.NewReplacer("^<", " <", "^>", " >").Replace(s.Body)
	}
	return s.Body
}

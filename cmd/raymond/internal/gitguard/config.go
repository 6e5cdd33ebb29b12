package gitguard

import (
	"slices"
	"strings"
)

// setting is one of a file of git's settings.
type setting struct {
	section, subsection, name string // section and name in lower case
	value                     string
	bare                      bool // it has no value, which stands for true
}

// key is how git names the setting.
func (s setting) key() string {
	if s.subsection == "" {
		return s.section + "." + s.name
	}
	return s.section + "." + s.subsection + "." + s.name
}

// isKept reports whether agents may change a setting: none of these names a program.
func (s setting) isKept() bool {
	switch s.section {
	case "user", "branch":
		return true
	case "remote":
		return s.subsection != "" && (s.name == "url" || s.name == "fetch")
	}
	return false
}

// isHarmless reports whether a setting of a repository that agents made may stay, which
// git can't read without some of these.
func (s setting) isHarmless() bool {
	if s.section == "extensions" {
		return true
	}
	return s.section == "core" && s.subsection == "" && slices.Contains(harmless, s.name)
}

var harmless = []string{"repositoryformatversion", "filemode", "bare", "logallrefupdates", "symlinks", "ignorecase", "precomposeunicode",
	"worktree", "sparsecheckout", "sparsecheckoutcone"}

// merge returns the settings of before, and of now those that agents may change. changed
// are the keys of all others that differ.
func merge(before, now []setting) (merged []setting, changed []string) {
	for _, s := range before {
		if !s.isKept() {
			merged = append(merged, s)
		}
	}
	rest := slices.Clone(merged)
	for _, s := range now {
		switch i := slices.Index(rest, s); {
		case s.isKept():
			merged = append(merged, s)
		case i >= 0:
			rest = slices.Delete(rest, i, i+1)
		default:
			changed = append(changed, s.key())
		}
	}
	for _, s := range rest {
		changed = append(changed, s.key())
	}
	slices.Sort(changed)
	return merged, slices.Compact(changed)
}

// encode writes settings as git reads them. Nothing of a value can end it.
func encode(list []setting) []byte {
	var b strings.Builder
	for _, s := range list {
		b.WriteString("[" + s.section)
		if s.subsection != "" {
			b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.subsection) + `"`)
		}
		b.WriteString("]\n\t" + s.name)
		if !s.bare {
			b.WriteString(` = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(s.value) + `"`)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// parse reads settings, up to what isn't written as it should be.
func parse(data []byte) (list []setting, isWhole bool) {
	p := &parser{text: strings.ReplaceAll(string(data), "\r\n", "\n") + "\n"}
	p.text = strings.TrimPrefix(p.text, "\ufeff")
	for p.skip(); p.text != ""; p.skip() {
		if p.text[0] == '[' {
			if !p.header() {
				return list, false
			}
			continue
		}
		s, ok := p.setting()
		if !ok || p.section == "" {
			return list, false
		}
		list = append(list, s)
	}
	return list, true
}

// parser is what is left to be read, and the section that it is in.
type parser struct {
	text, section, subsection string
}

// skip passes over blanks and comments.
func (p *parser) skip() {
	for p.text = strings.TrimLeft(p.text, " \t\n\r\f\v"); strings.HasPrefix(p.text, "#") || strings.HasPrefix(p.text, ";"); {
		_, p.text, _ = strings.Cut(p.text, "\n")
		p.text = strings.TrimLeft(p.text, " \t\n\r\f\v")
	}
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

// word takes a name, and returns it in lower case.
func (p *parser) word(more string) string {
	n := 0
	for n < len(p.text) && (isName(p.text[n]) || strings.IndexByte(more, p.text[n]) >= 0) {
		n++
	}
	word := strings.ToLower(p.text[:n])
	p.text = p.text[n:]
	return word
}

// header reads [section], [section "subsection"] or [section.subsection].
func (p *parser) header() bool {
	p.text = p.text[1:]
	p.section, p.subsection = p.word("."), ""
	if p.section == "" {
		return false
	}
	if before, after, ok := strings.Cut(p.section, "."); ok {
		p.section, p.subsection = before, after
	}
	p.text = strings.TrimLeft(p.text, " \t")
	if rest, ok := strings.CutPrefix(p.text, `"`); ok {
		p.text = rest
		if !p.quotedSubsection() {
			return false
		}
	}
	rest, ok := strings.CutPrefix(p.text, "]")
	p.text = rest
	return ok
}

func (p *parser) quotedSubsection() bool {
	var b strings.Builder
	for i := 0; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '\n' || c == 0:
			return false
		case c == '"':
			p.subsection, p.text = b.String(), p.text[i+1:]
			return p.subsection != "" // which to git is not the section without one
		case c == '\\' && i+1 < len(p.text) && p.text[i+1] != '\n':
			i++
			b.WriteByte(p.text[i])
		default:
			b.WriteByte(c)
		}
	}
	return false
}

// setting reads a name and its value.
func (p *parser) setting() (setting, bool) {
	s := setting{section: p.section, subsection: p.subsection, name: p.word("")}
	if s.name == "" || s.name[0] < 'a' {
		return s, false
	}
	p.text = strings.TrimLeft(p.text, " \t")
	rest, ok := strings.CutPrefix(p.text, "=")
	if !ok {
		s.bare = true
		return s, p.text == "" || strings.IndexByte("\n#;\r", p.text[0]) >= 0
	}
	p.text = strings.TrimLeft(rest, " \t")
	s.value, ok = p.value()
	return s, ok && !strings.ContainsRune(s.value, 0)
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'b': "\b", '"': `"`, '\\': `\`, '\n': ""}

// value reads to the end of the line, and beyond it after a backslash.
func (p *parser) value() (string, bool) {
	var b strings.Builder
	isQuoted, isComment, end := false, false, 0 // end: of what is no blank at the end
	for i := 0; i < len(p.text); i++ {
		c := p.text[i]
		switch {
		case c == '\n':
			p.text = p.text[i:]
			return b.String()[:end], !isQuoted
		case isComment:
		case c == '\\':
			i++
			text, isKnown := escapes[p.text[i]] // there is one: the text ends with a line break
			if !isKnown {
				return "", false
			}
			b.WriteString(text)
			end = b.Len()
		case c == '"':
			isQuoted, end = !isQuoted, b.Len()
		case !isQuoted && (c == '#' || c == ';'):
			isComment = true
		default:
			b.WriteByte(c)
			if isQuoted || c != ' ' && c != '\t' && c != '\r' {
				end = b.Len()
			}
		}
	}
	p.text = ""
	return b.String()[:end], !isQuoted
}

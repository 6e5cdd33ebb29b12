package permit

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lets reports whether a rule of a list lets a simple command pass. The CLI looks
// at a command as it is, without its redirections, without the variables and
// programs before it that it takes for harmless.
func lets(rules []string, c command) bool {
	forms := append([]string{c.text}, stripped(c.bare)...)
	return slices.ContainsFunc(rules, func(rule string) bool {
		return slices.ContainsFunc(forms, func(form string) bool { return matches(rule, form) })
	})
}

// matches reports whether a rule is for a text: all of Bash, exactly this one, all
// that begin with these words, or a pattern.
func matches(rule, text string) bool {
	if rule == "Bash" || rule == "Bash(*)" {
		return true
	}
	inner, opened := strings.CutPrefix(rule, "Bash(")
	inner, closed := strings.CutSuffix(inner, ")")
	if !opened || !closed {
		return false
	}
	if prefix, ok := strings.CutSuffix(inner, ":*"); ok && !strings.Contains(prefix, "*") {
		return startsWith(text, prefix)
	}
	if !strings.Contains(inner, "*") {
		return strings.TrimSpace(inner) == text
	}
	// A pattern that ends with a blank and a star is also for what stands before.
	if before, ok := strings.CutSuffix(inner, " *"); ok && !strings.Contains(before, "*") {
		return startsWith(text, before)
	}
	parts := strings.Split(inner, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	pattern, err := regexp.Compile("(?s)^" + strings.Join(parts, ".*") + "$")
	return err == nil && pattern.MatchString(text)
}

// startsWith compares words: how many blanks are between them is not looked at.
func startsWith(text, prefix string) bool {
	text, prefix = blanks(text), blanks(prefix)
	return text == prefix || strings.HasPrefix(text, prefix+" ")
}

func blanks(s string) string { return strings.Join(strings.Fields(s), " ") }

// harmless are variables that the CLI looks past; there are more, which need not
// be known here.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(NODE_ENV|CI|LANG|LC_ALL|TZ|NO_COLOR|FORCE_COLOR|TERM)=[A-Za-z0-9._-]*$`)
})

// wrappers are programs that the CLI looks past, with the arguments that belong
// to them.
var wrappers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:timeout [0-9.]+[smhd]?|nohup|time|nice(?: -n [0-9]+)?|!) `)
})

// stripped are the forms of a command that the CLI compares.
func stripped(text string) []string {
	forms := []string{text}
	for {
		if w := wrappers().FindString(text); w != "" {
			text = strings.TrimLeft(text[len(w):], " ")
		} else if first, rest, ok := strings.Cut(text, " "); ok && harmless().MatchString(first) {
			text = strings.TrimLeft(rest, " ")
		} else {
			return forms
		}
		forms = append(forms, text)
	}
}

package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxAfter is the longest that the attribute after may say.
const maxAfter = 35 * 24 * time.Hour

// addressingAttributes say who is asked, and where: the author of a workflow decides that,
// not an agent.
var addressingAttributes = []string{"where", "from", "untrusted"}

// addressing returns the attributes of an ask that say who is asked, and where.
func (t Tag) addressing() []string {
	if t.Verb != Ask {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(addressingAttributes), func(name string) bool {
		_, ok := t.Attrs[name]
		return !ok
	})
}

func (t Tag) isAddressed() bool { return len(t.addressing()) > 0 }

// ValueProblems says what is wrong with the values of a tag, beyond the states that it
// names.
func (t Tag) ValueProblems() []Problem {
	var problems []Problem
	add := func(why string) {
		problems = append(problems, Problem{Pos: t.Pos, Code: "bad-tag", Message: fmt.Sprintf("<%s>: %s", t.Verb, why)})
	}
	for _, name := range t.attributeNames() {
		if why := checkAttributeValue(t.Verb, name, t.Attrs[name]); why != "" {
			add(why)
		}
	}
	if t.Verb != Ask {
		return problems
	}
	if strings.TrimSpace(t.Body) == "" {
		add("the question is empty")
	}
	for _, why := range []string{missingHalf(t.Attrs), namesAuthor(t.Attrs)} {
		if why != "" {
			add(why)
		}
	}
	return problems
}

// missingHalf says which of two attributes of an ask is missing that need each other, or "".
func missingHalf(attrs map[string]string) string {
	_, timeout := attrs["timeout"]
	_, next := attrs[partTimeoutNext]
	switch {
	case timeout && !next:
		return "timeout needs timeout_next, the state that comes when nobody answers"
	case next && !timeout:
		return "timeout_next needs timeout, how long the question waits for an answer"
	}
	return ""
}

// namesAuthor says that an ask, or an entry for one, may not name a stranger, or "".
func namesAuthor(attrs map[string]string) string {
	isAuthor := func(login string) bool { return strings.EqualFold(login, "author") }
	if slices.ContainsFunc(listOf(attrs["from"]), isAuthor) && attrs["untrusted"] != "true" {
		return `from names author, who may be a stranger: that needs untrusted="true"`
	}
	return ""
}

// valued is an attribute of which not every value is right.
type valued struct {
	of      []Verb
	isRight func(value string) bool
	wanted  string
}

// valuedAttributes are those whose value is of a simple kind.
var valuedAttributes = map[string]valued{
	"after":     {[]Verb{Goto, Reset}, func(v string) bool { d, ok := parseDuration(v); return ok && d <= maxAfter }, "a duration above zero and of at most 840h (35 days), such as 90s, 10m or 48h"},
	"agent":     {[]Verb{Function}, IsBackend, "one of " + strings.Join(Backends(), ", ")},
	"model":     {[]Verb{Function}, IsModel, ModelNames},
	"timeout":   {[]Verb{Ask}, func(v string) bool { _, ok := parseDuration(v); return ok }, "a duration above zero such as 90s, 10m or 48h"},
	"where":     {[]Verb{Ask}, func(v string) bool { _, ok := parseNumber(v); return ok }, "the number of an issue or a pull request"},
	"from":      {[]Verb{Ask}, areLogins, "a list of logins such as octocat,hubot"},
	"untrusted": {[]Verb{Ask}, isBoolean, "true or false"},
}

// checkAttributeValue says why an attribute of a tag can't have a value, or "". What names
// a state is checked elsewhere, and what a fork hands on is free.
func checkAttributeValue(v Verb, name, value string) string {
	if v == Ask && name == "choices" {
		return checkChoices(value)
	}
	known := valuedAttributes[name]
	if !slices.Contains(known.of, v) || known.isRight(value) {
		return ""
	}
	return fmt.Sprintf("%s is %s, not %s", name, Quote(value), known.wanted)
}

func isBoolean(value string) bool { return value == "true" || value == "false" }

// checkChoices says why a list of choices can't be offered, or "".
func checkChoices(value string) string {
	seen := map[string]string{}
	for _, choice := range listOf(value) {
		key := strings.ToLower(strings.ToUpper(choice)) // the same for all that strings.EqualFold takes for equal
		other, twice := seen[key]
		switch {
		case choice == "":
			return fmt.Sprintf("choices is %s, in which one is blank", Quote(value))
		case strings.ContainsFunc(choice, unicode.IsControl):
			return fmt.Sprintf("the choice %s has a control character", Quote(choice))
		case twice:
			return fmt.Sprintf("the choices %s and %s are the same but for upper and lower case", Quote(other), Quote(choice))
		}
		seen[key] = choice
	}
	return ""
}

// login matches the names of accounts.
var login = pattern(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func areLogins(value string) bool {
	return !slices.ContainsFunc(listOf(value), func(name string) bool { return !login().MatchString(name) })
}

// listOf splits a list at its commas and drops the blanks around each entry.
func listOf(value string) []string {
	list := strings.Split(value, ",")
	for i, item := range list {
		list[i] = strings.TrimSpace(item)
	}
	return list
}

// parseNumber reads the number of an issue or a pull request.
func parseNumber(s string) (int, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}

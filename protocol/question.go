package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxAfter is the longest duration that the attribute after accepts.
const maxAfter = 35 * 24 * time.Hour

// addressingAttributes are the attributes of an ask that choose who may answer, and on which issue
// or pull request. The author of the workflow decides that, not an agent.
var addressingAttributes = []string{"where", "from", "untrusted"}

// addressing returns the names of the addressing attributes that an ask has. It returns nil for
// any other tag.
func (t Tag) addressing() []string {
	if t.Verb != Ask {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(addressingAttributes), func(name string) bool {
		_, ok := t.Attrs[name]
		return !ok
	})
}

// isAddressed reports whether the tag is an ask with an addressing attribute.
func (t Tag) isAddressed() bool { return len(t.addressing()) > 0 }

// ValueProblems returns the problems with the values of a tag's attributes and, for an ask, with
// its question. It does not check the states that the tag names.
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
	for _, why := range []string{checkTimeout(t.Attrs), checkAuthor(t.Attrs)} {
		if why != "" {
			add(why)
		}
	}
	return problems
}

// checkTimeout returns a message if an ask has only one of the attributes timeout and
// timeout_next. Otherwise it returns "".
func checkTimeout(attrs map[string]string) string {
	_, timeout := attrs["timeout"]
	_, next := attrs[roleTimeoutNext]
	switch {
	case timeout && !next:
		return "timeout needs timeout_next, the state that follows if no answer comes"
	case next && !timeout:
		return "timeout_next needs timeout, how long the question waits for an answer"
	}
	return ""
}

// checkAuthor returns a message if an ask, or an entry for one, lets the author of an issue
// answer without untrusted="true". Otherwise it returns "".
func checkAuthor(attrs map[string]string) string {
	isAuthor := func(login string) bool { return strings.EqualFold(login, "author") }
	if slices.ContainsFunc(listOf(attrs["from"]), isAuthor) && attrs["untrusted"] != "true" {
		return `from includes author, who may be a stranger: this needs untrusted="true"`
	}
	return ""
}

// valueRule describes the values that an attribute may have.
type valueRule struct {
	verbs       []Verb
	isValid     func(value string) bool
	description string
}

// valueRules contains, by attribute name, the rules for values that can be checked without
// looking at other attributes.
var valueRules = map[string]valueRule{
	"after":     {[]Verb{Goto, Reset}, func(v string) bool { d, ok := parseDuration(v); return ok && d <= maxAfter }, "a duration above zero and of at most 840h (35 days), such as 90s, 10m or 48h"},
	"agent":     {[]Verb{Function}, IsBackend, "one of " + strings.Join(Backends(), ", ")},
	"model":     {[]Verb{Function}, IsModel, ModelNames},
	"timeout":   {[]Verb{Ask}, func(v string) bool { _, ok := parseDuration(v); return ok }, "a duration above zero such as 90s, 10m or 48h"},
	"where":     {[]Verb{Ask}, func(v string) bool { _, ok := parseNumber(v); return ok }, "the number of an issue or a pull request"},
	"from":      {[]Verb{Ask}, areLogins, "a list of logins such as octocat,hubot"},
	"untrusted": {[]Verb{Ask}, isBoolean, "true or false"},
}

// checkAttributeValue returns why an attribute of a tag can't have this value, or "" if it can.
// State names are checked elsewhere. Variables of a fork may have any value.
func checkAttributeValue(v Verb, name, value string) string {
	if v == Ask && name == "choices" {
		return checkChoices(value)
	}
	known := valueRules[name]
	if !slices.Contains(known.verbs, v) || known.isValid(value) {
		return ""
	}
	return fmt.Sprintf("%s is %s, not %s", name, Quote(value), known.description)
}

// isBoolean reports whether a value is "true" or "false".
func isBoolean(value string) bool { return value == "true" || value == "false" }

// checkChoices returns why the value of the attribute choices is wrong, or "" if it is right.
func checkChoices(value string) string {
	seen := map[string]string{}
	for _, choice := range listOf(value) {
		key := strings.ToLower(strings.ToUpper(choice)) // the same for spellings that strings.EqualFold treats as equal
		other, twice := seen[key]
		switch {
		case choice == "":
			return fmt.Sprintf("choices is %s, which has a blank entry", Quote(value))
		case strings.ContainsFunc(choice, unicode.IsControl):
			return fmt.Sprintf("the choice %s has a control character", Quote(choice))
		case twice:
			return fmt.Sprintf("the choices %s and %s differ only in upper and lower case", Quote(other), Quote(choice))
		}
		seen[key] = choice
	}
	return ""
}

// login matches the names of GitHub accounts.
var login = pattern(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// areLogins reports whether a comma-separated list contains only names of GitHub accounts.
func areLogins(value string) bool {
	return !slices.ContainsFunc(listOf(value), func(name string) bool { return !login().MatchString(name) })
}

// listOf splits a comma-separated list and trims each entry.
func listOf(value string) []string {
	list := strings.Split(value, ",")
	for i, item := range list {
		list[i] = strings.TrimSpace(item)
	}
	return list
}

// parseNumber reads the number of an issue or a pull request: a positive integer without sign and
// leading zeros.
func parseNumber(s string) (int, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}

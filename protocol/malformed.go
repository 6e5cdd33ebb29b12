package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// openingLike and closingLike match text that may be intended as the opening and the closing of a
// tag. The '<' of an opening and the slash of a closing may be missing.
var (
	openingLike = pattern(`(<[ \t]*)?\b([A-Za-z]{3,12})([ \t][^<>\n]*|/)?>`)
	closingLike = pattern(`^<[ \t]*([/\\]?)[ \t]*([A-Za-z]{3,12})\s*[/\\]?\s*>`)
)

// maxCandidate limits how many bytes after an opening are searched for its closing.
const maxCandidate = 1 << 10

// candidate is a passage of a text that may be intended as a tag.
type candidate struct {
	opening, attrs, body, closing string // as written; closing may be ""
	name, closingName             string
	hasSlash                      bool // the closing has a slash
	verb                          Verb // the verb that the author probably meant; "" if no verb is similar
	opens, closes                 bool // whether the opening and the closing have the right form
	isPair                        bool // the closing is intended for the same verb as the opening
	end                           int  // offset of the text after the candidate
}

// candidateAt returns the candidate that begins at m, a match of openingLike in text.
func candidateAt(text string, m []int) candidate {
	part := func(s string, m []int, n int) string { return s[max(0, m[2*n]):max(0, m[2*n+1])] }
	c := candidate{opening: text[m[0]:m[1]], name: part(text, m, 2), attrs: part(text, m, 3), end: m[1]}
	lower := strings.ToLower(c.name)
	if slices.Contains(verbs, Verb(lower)) {
		c.verb = Verb(lower)
	} else if near := Nearest(lower, verbNames()); near != "" && distance(lower, near) <= 2 {
		c.verb = Verb(near)
	}
	c.opens = c.name == string(c.verb) && strings.HasPrefix(c.opening, "<"+c.name)
	rest := text[m[1]:min(len(text), m[1]+maxCandidate)]
	at := strings.IndexByte(rest, '<')
	if at < 0 {
		c.body = rest
		return c
	}
	c.body = rest[:at]
	if m := closingLike().FindStringSubmatchIndex(rest[at:]); m != nil {
		c.closing, c.closingName, c.hasSlash = part(rest[at:], m, 0), part(rest[at:], m, 2), m[2] < m[3]
		c.end += at + m[1]
		c.closes = strings.HasPrefix(c.closing, "</"+string(c.verb)) && strings.Join(strings.Fields(c.closing), "") == "</"+string(c.verb)+">"
		c.isPair = c.closingName == c.name || distance(strings.ToLower(c.closingName), string(c.verb)) <= 2
	}
	return c
}

// malformed returns a Problem for each passage of a text that was probably intended as a tag but
// is not one. p is the policy. tags are the valid tags in the text; malformed skips the text inside
// a result or an ask, because it is quoted. A misspelt verb counts only if the passage names a
// state, or if its opening or its closing is spelt right. At the very end of a message (isMessage),
// an XML element with a misspelt verb counts whatever it contains.
func (w *Workflow) malformed(p *Transitions, text string, tags []ParsedTag, isMessage bool) (problems []Problem) {
	place, end := placer{text: text, pos: Pos{1, 1}}, len(strings.TrimRight(text, " \t\r\n"))
	tags = slices.DeleteFunc(slices.Clone(tags), func(t ParsedTag) bool { return !t.Verb.quotes() })
	for _, m := range openingLike().FindAllStringSubmatchIndex(text, -1) {
		for len(tags) > 0 && tags[0].end <= m[0] {
			tags = tags[1:]
		}
		if len(tags) > 0 && tags[0].start <= m[0] {
			continue
		}
		c := candidateAt(text, m)
		isCommon := c.verb.MustBeNamed() && strings.TrimSpace(c.attrs) == "" && (!p.Restricted || !p.CountsVerb(c.verb))
		if c.verb == "" || isCommon {
			continue
		}
		if problem := w.problemOf(c, isMessage && c.end >= end); problem != nil {
			problem.Pos = place.at(m[0])
			problems = append(problems, *problem)
		}
	}
	return problems
}

// isMeant reports whether a candidate is probably intended as a tag. If its verb has a target, the
// candidate must name a state or a variable. For any other verb, the opening or the closing must
// have the right form.
func (w *Workflow) isMeant(c candidate) bool {
	if c.verb.HasTarget() {
		target, _, _ := strings.Cut(strings.TrimSpace(c.body), "\n")
		target = strings.Trim(target, " \t\r'\"`.,;)")
		return w.catalog.find(target) != "" || target != "" && strings.Contains("${%", target[:1])
	}
	isTouching := c.body == strings.TrimSpace(c.body) && strings.Trim(c.body, ".…/|,") != ""
	return c.isPair && (c.opens || c.closes) && (c.hasSlash || isTouching)
}

// problemOf returns the mistake in a candidate. It returns nil if the candidate has the right form,
// or if it is probably not intended as a tag. isLast means that the candidate ends a message.
func (w *Workflow) problemOf(c candidate, isLast bool) *Problem {
	isMeant := w.isMeant(c)
	isElement := strings.HasPrefix(c.opening, "<")
	switch lower := strings.ToLower(c.name); {
	case c.opens && c.closes:
	case isElement && lower == string(c.verb) && c.name != lower:
		return &Problem{Code: "tag-case", Message: fmt.Sprintf("<%s> is not a tag: tags are written in lower case", c.name), Hint: fmt.Sprintf("write <%s>", lower)}
	case c.opens && strings.HasSuffix(c.attrs, "/"):
		if attrs, _ := attributesIn(c.attrs); slices.ContainsFunc(slices.Collect(maps.Values(attrs)), func(v string) bool { return w.catalog.find(v) != "" }) {
			return &Problem{Code: "not-closed", Message: fmt.Sprintf("<%s> is not closed: the state's name goes between an opening and a closing tag", c.verb), Hint: "write " + form(c.verb)}
		}
	case c.opens && isMeant:
		p := &Problem{Code: "not-closed", Message: fmt.Sprintf("<%s> is not closed", c.verb), Hint: fmt.Sprintf("close it with </%s>", c.verb)}
		if c.isPair {
			p.Message += ": " + c.closing + " does not close it"
		}
		return p
	case c.isPair && (isMeant || isLast && isElement && c.name == c.closingName):
		return &Problem{Code: "near-tag", Message: strings.Replace(c.opening, c.attrs, "", 1) + " is not a tag", Hint: fmt.Sprintf("did you mean <%s>", c.verb)}
	}
	return nil
}

// MalformedTags returns a problem for each passage of the text that was probably intended as a tag
// but is not one. The positions of the problems are in the file.
func (d *Analysis) MalformedTags() []Problem {
	problems := d.w.malformed(&d.State.Policy.Transitions, unescaped(d.State), d.Tags, false)
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return d.IsComment(d.Lines[p.Pos.Line-1]) })
	for i := range problems {
		problems[i].Pos.Line += d.State.Line - 1
	}
	return problems
}

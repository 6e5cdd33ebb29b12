package report

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// address is what may be a link: nothing that Markdown or HTML could read as
// anything else between < and >, and no user before the host, which could look
// like one.
var address = regexp.MustCompile(`https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][A-Za-z0-9._~%/?#=&+,;:-]*)?`)

const (
	mostLinks    = 5
	longestLink  = 300 // bytes
	afterAddress = "\"'`)]}>.,;:!?*_|…"
)

// stretch is a part of a text, from the first byte of it to that after its last.
type stretch struct{ from, to int }

// links finds the addresses in a text, without what ends a sentence after them. One
// that something follows which no address may have is none: what a reader takes
// for the address would lead elsewhere.
func (s *Summary) links(text string) []stretch {
	var found []stretch
	for _, at := range address.FindAllStringIndex(text, -1) {
		from, to := at[0], at[1]
		if rest := text[to:]; rest != "" && !strings.ContainsAny(rest[:1], " \t\n"+afterAddress) && !strings.HasPrefix(rest, ellipsis) {
			continue
		}
		to = from + len(strings.TrimRight(text[from:to], ".,;:?_"))
		if to-from <= longestLink && s.mayLink(text[from:to]) && (from == 0 || strings.ContainsAny(text[from-1:from], " \t\n\"'`([{<*_|")) {
			found = append(found, stretch{from, to})
		}
	}
	return found
}

// mayLink reports whether a link to an address tells nobody on the forge that he
// was mentioned.
func (s *Summary) mayLink(to string) bool {
	at, err := url.Parse(to)
	if err != nil {
		return false
	}
	site, err := url.Parse(s.o.Site)
	if err == nil && site.Host != "" && strings.HasPrefix(to, s.o.Site) {
		return !strings.Contains(at.Path, "/.")
	}
	host := strings.ToLower(at.Host)
	return err == nil && host != strings.ToLower(site.Host) && host != "github.com" && !strings.HasSuffix(host, ".github.com")
}

// linked is a result of one short line with its addresses as links, all else of it
// as it is;
// "" for one without any, and for a longer one.
func (s *Summary) linked() string {
	text := strings.TrimSpace(s.tale.result.String())
	if strings.Contains(text, "\n") || columns(text) > widestInline+longestLink || s.tale.result.dropped > 0 {
		return ""
	}
	text = plain(text)
	found := s.links(text)
	if len(found) == 0 {
		return ""
	}
	var parts []string
	say := func(words string) {
		if words = strings.TrimSpace(words); words != "" {
			parts = append(parts, codeSpan(words))
		}
	}
	at := 0
	for _, l := range found {
		say(text[at:l.from])
		parts = append(parts, "<"+text[l.from:l.to]+">")
		at = l.to
	}
	say(text[at:])
	return "**Result**: " + strings.Join(parts, " ") + "\n\n"
}

// otherLinks are the addresses in a longer result, as links in a line of their own:
// where it stands as it is nothing is a link.
func (s *Summary) otherLinks() string {
	text := s.tale.result.String()
	var shown []string
	for _, l := range s.links(text) {
		link := "<" + text[l.from:l.to] + ">"
		if len(shown) < mostLinks && !slices.Contains(shown, link) {
			shown = append(shown, link)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return "Links in the result: " + strings.Join(shown, " · ") + "\n\n"
}

package report

import (
	"net/url"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// urlForm matches a URL that may become a link. Inside "<" and ">" it has no other meaning in
// Markdown or HTML. It has no user name, which could look like a host.
var urlForm = text.Regexp(`https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][A-Za-z0-9._~%/?#=&+,;:-]*)?`)

const (
	maxLinks    = 5
	longestLink = 300 // bytes
	afterURL    = "\"'`)]}>.,;:!?*_|…"
)

// linker decides which URLs in a result become links. Its value is the URL of the repository, "" if
// that is unknown.
type linker string

// find returns the ranges of the URLs in a text that may become links.
func (l linker) find(text string) [][]int {
	return slices.DeleteFunc(FindURLs(text), func(at []int) bool { return !l.isAllowed(text[at[0]:at[1]]) })
}

// FindURLs returns the ranges of the URLs in a text, without punctuation at their end. It leaves
// out a URL that is followed by a character which can't be part of it: the link would have a
// different target than the text.
func FindURLs(text string) [][]int {
	var found [][]int
	for _, at := range urlForm().FindAllStringIndex(text, -1) {
		from, to := at[0], at[1]
		if rest := text[to:]; rest != "" && !strings.ContainsAny(rest[:1], " \t\n"+afterURL) && !strings.HasPrefix(rest, ellipsis) {
			continue
		}
		to = from + len(strings.TrimRight(text[from:to], ".,;:?_"))
		if to-from <= longestLink && (from == 0 || strings.ContainsAny(text[from-1:from], " \t\n\"'`([{<*_|")) {
			found = append(found, []int{from, to})
		}
	}
	return found
}

// isAllowed reports whether a URL may become a link. On the forge's host only URLs of the
// repository are allowed, because other links to issues would notify people there.
func (l linker) isAllowed(to string) bool {
	at, err := url.Parse(to)
	if err != nil {
		return false
	}
	site, err := url.Parse(string(l))
	if err == nil && site.Host != "" && strings.HasPrefix(to, string(l)) {
		return !strings.Contains(at.Path, "/.")
	}
	host := strings.ToLower(at.Host)
	return err == nil && host != strings.ToLower(site.Host) && host != "github.com" && !strings.HasSuffix(host, ".github.com")
}

// linkWithHost returns a link with its URL and its host, since a long URL may look like another
// site.
func linkWithHost(address string) string {
	at, _ := url.Parse(address) // isAllowed has parsed it
	return "<" + address + "> (" + text.Code(at.Hostname()) + ")"
}

// linksLine returns a line with the links in a result. The result itself is shown as code, in which
// nothing is a link.
func (l linker) linksLine(result string) string {
	var shown []string
	for _, at := range l.find(result) {
		link := linkWithHost(result[at[0]:at[1]])
		if len(shown) < maxLinks && !slices.Contains(shown, link) {
			shown = append(shown, link)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return "Links in the result: " + strings.Join(shown, " · ") + "\n\n"
}

package report

import (
	"net/url"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// urlForm matches a URL that may become a link. Markdown and HTML interpret it only as a URL if it
// is between "<" and ">". It can't contain a user name, because that could look like a host.
var urlForm = text.Regexp(`https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][A-Za-z0-9._~%/?#=&+,;:-]*)?`)

const (
	maxLinks    = 5
	longestLink = 300 // maximum length of a link in bytes
	afterURL    = "\"'`)]}>.,;:!?*_|…"
)

// linker decides which URLs in a result become links. Its value is the URL of the repository, or ""
// if that is unknown.
type linker string

// find returns the ranges in text of the URLs that may become links.
func (l linker) find(text string) [][]int {
	return slices.DeleteFunc(FindURLs(text), func(at []int) bool { return !l.isAllowed(text[at[0]:at[1]]) })
}

// FindURLs returns the ranges of the URLs in text, without punctuation at their ends. It ignores a
// URL that is directly followed by a character that urlForm does not allow: the link would go to
// only the first part of the address that the text shows.
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

// isAllowed reports whether a URL may become a link. On github.com and on the host of the
// repository, only URLs in the repository are allowed, because GitHub would notify people of links to
// their issues.
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

// linkWithHost returns a link that shows its URL and, in parentheses, its host. Without the host, a
// long URL could look as if it were on another site.
func linkWithHost(address string) string {
	at, _ := url.Parse(address) // isAllowed has checked that this succeeds
	return "<" + address + "> (" + text.Code(at.Hostname()) + ")"
}

// linksLine returns a line with the links in a result, or "" if the result contains no links. The
// result itself is shown as code, in which URLs are not links.
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

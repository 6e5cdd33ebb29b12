package report

import (
	"net/url"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// address is what may become a link. Between < and > neither Markdown nor HTML reads it
// as anything else, and it has no user name, which could look like a host.
var address = text.Regexp(`https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][A-Za-z0-9._~%/?#=&+,;:-]*)?`)

const (
	maxLinks     = 5
	longestLink  = 300 // bytes
	afterAddress = "\"'`)]}>.,;:!?*_|…"
)

// linker decides which addresses in a result become links. Its value is the address
// of the repository, "" when that is not known.
type linker string

// find finds the addresses in a text that may be links.
func (l linker) find(text string) [][]int {
	return slices.DeleteFunc(FindURLs(text), func(at []int) bool { return !l.mayLink(text[at[0]:at[1]]) })
}

// FindURLs finds the addresses of the web in a text, without punctuation at their end: of each
// the first byte and that after its last. It leaves out an address that is followed by a
// character which address does not match: the link would lead elsewhere than the text says.
func FindURLs(text string) [][]int {
	var found [][]int
	for _, at := range address().FindAllStringIndex(text, -1) {
		from, to := at[0], at[1]
		if rest := text[to:]; rest != "" && !strings.ContainsAny(rest[:1], " \t\n"+afterAddress) && !strings.HasPrefix(rest, ellipsis) {
			continue
		}
		to = from + len(strings.TrimRight(text[from:to], ".,;:?_"))
		if to-from <= longestLink && (from == 0 || strings.ContainsAny(text[from-1:from], " \t\n\"'`([{<*_|")) {
			found = append(found, []int{from, to})
		}
	}
	return found
}

// mayLink reports whether an address may be a link. On the host of the forge only the
// repository may: the forge would tell people elsewhere that they were mentioned.
func (l linker) mayLink(to string) bool {
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

// shownLink returns a link with its address and, since a long one may look like another site, its host.
func shownLink(address string) string {
	at, _ := url.Parse(address) // mayLink has parsed it
	return "<" + address + "> (" + text.Code(at.Hostname()) + ")"
}

// list returns the addresses in a result as links in a line of their own: the result itself is
// shown as it is, and nothing in it is a link.
func (l linker) list(result string) string {
	var shown []string
	for _, at := range l.find(result) {
		link := shownLink(result[at[0]:at[1]])
		if len(shown) < maxLinks && !slices.Contains(shown, link) {
			shown = append(shown, link)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return "Links in the result: " + strings.Join(shown, " · ") + "\n\n"
}

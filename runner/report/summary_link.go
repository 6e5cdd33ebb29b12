package report

import (
	"regexp"
	"strings"
)

// linkable is what an address may have behind that of the site to be shown as a
// link: nothing that Markdown or HTML could read as anything else. Nor may a part
// of it begin with a dot: two of them lead elsewhere.
var linkable = regexp.MustCompile(`^[A-Za-z0-9/._#?=&-]{1,200}$`)

// linked returns a result that is nothing but an address of the site, as of a
// pull request, as a link to it, and "" for any other.
func (s *Summary) linked() string {
	address := strings.TrimSpace(s.tale.result.String())
	rest, ok := strings.CutPrefix(address, s.o.Site)
	if s.o.Site == "" || !ok || !linkable.MatchString(rest) || strings.Contains("/"+rest, "/.") {
		return ""
	}
	return "**Result**: <" + address + ">\n\n"
}

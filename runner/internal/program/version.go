package program

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Version is the version of an agent CLI: its major, minor and patch number.
type Version [3]int

// String returns the version in the form "1.2.3".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool { return slices.Compare(v[:], w[:]) < 0 }

// versionPattern matches a version at the beginning of a text, after an optional name.
var versionPattern = text.Regexp(`^(?:[A-Za-z][A-Za-z0-9-]{0,40} v?)?(\d{1,6})\.(\d{1,6})\.(\d{1,6})`)

// ParseVersion parses the version at the beginning of a text. A name may precede the version, as in
// "name-cli 1.2.3". It returns false if there is no version.
func ParseVersion(out []byte) (Version, bool) {
	m := versionPattern().FindSubmatch(out)
	if m == nil {
		return Version{}, false
	}
	var v Version
	for i := range v {
		v[i], _ = strconv.Atoi(string(m[i+1]))
	}
	return v, true
}

package slots

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxKey is the maximum number of bytes of a key in a name.
const maxKey = 100

// replacement replaces characters of a key that names can't contain.
const replacement = '-'

// hashLen is the number of digits of a key's hash in its names if the key itself does not fit.
const hashLen = 6

// partMark separates the key from the part of a matrix in a name.
const partMark = "~"

// Place identifies the checkpoints and claims that have the same key and part, and determines their
// names.
type Place struct {
	Key  string
	Part string // name of a part of a matrix, 8 hex digits; "" for the run itself
}

// Names returns the three names under which checkpoints are stored. No two places share a name: the
// names contain a hash of the key if the key had to be changed to fit, or if it looks like a
// changed key.
func (p Place) Names() [3]string {
	var names [3]string
	for i := range names {
		names[i] = fmt.Sprintf("raymond-%s-%d", p.stem(), i)
	}
	return names
}

// ClaimName returns the name under which the claim is stored.
func (p Place) ClaimName() string { return fmt.Sprintf("raymond-%s-claim", p.stem()) }

// ReportName returns the name under which a job stores the report of the run.
func (p Place) ReportName(attempt int, job string) string {
	return fmt.Sprintf("raymond-%s-report-%d-%s", p.stem(), max(1, attempt), fitting(job))
}

// stem returns the common part of the names.
func (p Place) stem() string {
	stem := fitting(p.Key)
	if stem != p.Key || hashed().MatchString(p.Key) || strings.Contains(p.Key, partMark) {
		sum := sha256.Sum256([]byte(p.Key))
		stem += string(replacement) + hex.EncodeToString(sum[:])[:hashLen]
	}
	if p.Part != "" {
		stem += partMark + p.Part
	}
	return stem
}

// fitting replaces characters that names can't contain and cuts keys that are too long. An empty
// key becomes one replacement character.
func fitting(key string) string {
	out := strings.Map(func(r rune) rune {
		unfit := r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(artifacts.ForbiddenInName, r)
		if unfit {
			return replacement
		}
		return r
	}, key)
	out = text.Prefix(out, maxKey)
	if out == "" {
		return string(replacement)
	}
	return out
}

// hashed matches the end of changed keys. A key that looks like this but contains no hash could
// otherwise be confused with the changed form of another key.
var hashed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9a-f]{6}$`) })

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

// maxKey is how much of a key goes into a name, in bytes.
const maxKey = 100

// replacement stands for characters of a key that a name can't have.
const replacement = '-'

// hashLen is how many digits of a key's hash go into its names when the key
// itself does not fit.
const hashLen = 6

// partMark is in a name before the part of a matrix that it is about.
const partMark = "~"

// Place is what the names of checkpoints and claims are made of.
type Place struct {
	Key  string
	Part string // name of a part of a matrix, 8 hex digits; "" for the run itself
}

// Names returns the three names under which checkpoints are stored. No two places share
// one: a key that had to be changed to fit has a part of its hash in the names, and so has a
// key that looks as if it had one.
func (p Place) Names() [3]string {
	var names [3]string
	for i := range names {
		names[i] = fmt.Sprintf("raymond-%s-%d", p.stem(), i)
	}
	return names
}

// ClaimName is the name under which the claim is stored.
func (p Place) ClaimName() string { return fmt.Sprintf("raymond-%s-claim", p.stem()) }

// ReportName is the name under which a job stores the report of the run.
func (p Place) ReportName(attempt int, job string) string {
	return fmt.Sprintf("raymond-%s-report-%d-%s", p.stem(), max(1, attempt), fitting(job))
}

// stem is what the names have in common.
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

// fitting replaces what names can't have and cuts what is too long. An empty key
// becomes one replacement.
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

// hashed is how keys end that had to be changed. One that looks so by itself and has no hash of its own could be taken for the
// changed form of another.
var hashed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9a-f]{6}$`) })

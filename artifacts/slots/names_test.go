package slots_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// keys returns keys that are similar, so that a careless rule would give them the same name.
func keys() []string {
	long := strings.Repeat("k", 99)
	list := []string{
		"", "-", " ", "a", "a/b", "a:b", "a\\b", "a-b", "a b", "a\tb", "a\u2003b", "a\u0085b", "a\nb", "a\x00b", "a\xffb", "a\u202eb",
		"ci.yml-issue-7", "ci.yml-pr-7", "ci.yml-feature/x", `"`, "*?", "<>|", long, long + "é", long + "e", long + "ef", long + "é/", "日本語/語",
		strings.Repeat("語", 40), strings.Repeat("語", 41),
	}
	for _, k := range list {
		list = append(list, strings.TrimSuffix(strings.TrimPrefix((slots.Place{Key: k}).Names()[0], "raymond-"), "-0"))
	}
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "/", "-", ":", "é", "0", " ", "deadbe", "\r"}
	for range 500 {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		list = append(list, b.String())
	}
	return list
}

// TestNamesAreUnique checks that different keys and parts have different names, and that every
// service accepts the names.
func TestNamesAreUnique(t *testing.T) {
	owner := map[string]slots.Place{}
	isBlank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	for _, key := range append(keys(), "a~deadbeef", "a~deadbeef-0", "~") {
		for _, place := range []slots.Place{{Key: key}, {Key: key, Part: "deadbeef"}} {
			names := place.Names()
			for _, name := range append(names[:], place.ClaimName()) {
				if strings.ContainsAny(name, artifacts.ForbiddenInName) || !utf8.ValidString(name) || strings.ContainsFunc(name, isBlank) || len(name) > 130 {
					t.Errorf("%+v: %q is no name for every service, not UTF-8, blank or too long", place, name)
				}
				if other, taken := owner[name]; taken && other != place {
					t.Errorf("%+v and %+v share the name %q", other, place, name)
				}
				owner[name] = place
			}
		}
	}
}

func TestPlainKeysStayReadable(t *testing.T) {
	for key, want := range map[string]string{
		"ci.yml-issue-7":              "raymond-ci.yml-issue-7-2",
		"ci.yml-main":                 "raymond-ci.yml-main-2",
		"ci.yml-日本":                   "raymond-ci.yml-日本-2",
		strings.Repeat("k", 100):      "raymond-" + strings.Repeat("k", 100) + "-2",
		"ci.yml-feature/x":            "raymond-ci.yml-feature-x-03af56-2",
		strings.Repeat("k", 99) + "é": "raymond-" + strings.Repeat("k", 99) + "-7012e0-2",
	} {
		assert.Check(t, is.Equal((slots.Place{Key: key}).Names()[2], want), "Names(%q)[2]", key)
	}
	part := slots.Place{Key: "k", Part: "0123abcd"}
	assert.Check(t, is.Equal(part.Names()[2]+" "+part.ClaimName(), "raymond-k~0123abcd-2 raymond-k~0123abcd-claim"), "part of a matrix")
}

package checkpoint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// TestKeyFiles checks that ParseKeys accepts the formats of key files. An error must name the line of an
// invalid key without quoting it.
func TestKeyFiles(t *testing.T) {
	_, lines := newKeys(t, 2)
	text := "# created: today\r\n# public key: age1…\r\n\n  " + lines[0] + "  \r\n\n" + lines[1]
	keys := parseKeys(t, text)
	assert.Check(t, slices.Equal(keys.Values(), lines), "got %d values, want the 2 keys", len(keys.Values()))
	for _, tt := range []struct{ bad, want string }{
		{"hunter2", "line 3 "}, {lines[1][:40], "line 3 "}, {strings.ToLower(lines[1]) + "x", "line 3 "}, {lines[1] + lines[0], "line 3 "},
		{"AGE-SECRET-KEY-PQ-1" + lines[0][16:], "line 3 "}, {"age1qqqq", "line 3 "},
	} {
		_, err := checkpoint.ParseKeys(lines[0] + "\n\n" + tt.bad + "\n")
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), tt.bad) || leaks(err.Error(), lines) {
			t.Errorf("%q: got %v, want an error that names %sand doesn't show the text", tt.bad, err, tt.want)
		}
	}
	for _, empty := range []string{"", "\n", "# nothing\n"} {
		_, err := checkpoint.ParseKeys(empty)
		assert.Check(t, err != nil, "%q: got no error", empty)
	}
}

// TestKeysAreNotPrinted checks that the common verbs of fmt don't print keys.
func TestKeysAreNotPrinted(t *testing.T) {
	keys, lines := newKeys(t, 2)
	w := checkpoint.WriteRequest{Keys: keys}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, v := range []any{keys, *keys, w, &w} {
			got := fmt.Sprintf(format, v)
			assert.Check(t, !leaks(got, lines), "%s of %T: got %s", format, v, got)
		}
	}
}

// leaks reports whether a text contains 8 consecutive characters of a key.
func leaks(text string, keys []string) bool {
	for _, key := range keys {
		secret := strings.TrimPrefix(key, "AGE-SECRET-KEY-1")
		for i := range len(secret) - 8 {
			if strings.Contains(strings.ToUpper(text), secret[i:i+8]) {
				return true
			}
		}
	}
	return false
}

package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

const token = `ghp_1aB/2+c"<é>&' z9`

func set(t testing.TB, values ...string) *Set {
	t.Helper()
	named := map[string]string{}
	for i, value := range values {
		named[fmt.Sprint(i)] = value
	}
	s, short := New(named)
	assert.Assert(t, is.Len(short, 0), "values %q: taken as too short", values)
	return s
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	assert.NilError(t, err)
	return string(data)
}

// TestEncodingsAreMasked checks that a secret is masked in the encodings that tools and loggers use.
func TestEncodingsAreMasked(t *testing.T) {
	s := set(t, token)
	lower := strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3C", "%3c", "%C3%A9", "%c3%a9", "%3E", "%3e")
	for name, text := range map[string]string{
		"plain":        token,
		"JSON":         marshal(t, token),
		"JSON in JSON": marshal(t, marshal(t, token)),
		"JSON in JS":   `{"a":"{\"b\":\"ghp_1aB/2+c\\\"<é>&' z9\"}"}`,
		"Python":       `"ghp_1aB/2+c\"<\u00e9>&' z9"`,
		"HTML":         "ghp_1aB/2+c&#34;&lt;é&gt;&amp;&#39; z9",
		"query":        "https://x/?a=" + url.QueryEscape(token) + "&b",
		"lower query":  lower.Replace(url.QueryEscape(token)),
		"path":         "https://x/" + url.PathEscape(token) + "/y",
		"JavaScript":   "ghp_1aB%2F2%2Bc%22%3C%C3%A9%3E%26%27%20z9",
		"Go":           fmt.Sprintf("%q %+q", token, token),
		"hex":          hex.EncodeToString([]byte(token)),
		"HEX":          fmt.Sprintf("%X", token),
	} {
		got := s.Text("before " + text + " after")
		for _, part := range []string{"1aB", "7068705f", "z9", "7A39"} {
			assert.Check(t, !strings.Contains(got, part), "%s: before %s after\ngot %q, which has a part of the secret", name, text, got)
		}
		if !strings.Contains(got, "***") || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestBase64MasksExactlyTheSecret checks that base64 around a mask reveals at most some bits of the
// secret's first and last byte, and that all characters that don't depend on the secret stay.
func TestBase64MasksExactlyTheSecret(t *testing.T) {
	secret := strings.Repeat("sk-ant-Zz9?>~", 3)
	s := set(t, secret)
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for before := range 6 {
			for after := range 6 {
				text := enc.EncodeToString([]byte(strings.Repeat("<", before) + secret + strings.Repeat("z", after)))
				got := s.Text(text)
				from, to := (before*8+5)/6, (before+len(secret))*8/6
				if after == 0 {
					to = len(strings.TrimRight(text, "="))
				}
				assert.Check(t, is.Equal(got, text[:from]+hidden+text[to:]), "%d bytes before, %d after: %s", before, after, text)
			}
		}
	}
}

// TestLineBreaksHideNothing checks that secrets are masked in encodings with line breaks. Where the breaks
// are depends on the text before the secret.
func TestLineBreaksHideNothing(t *testing.T) {
	for _, length := range []int{9, 40, 300} {
		secret := strings.Repeat("sk-ant-Zz9?>~", length)[:length]
		s := set(t, secret)
		for _, width := range []int{60, 64, 76} {
			for _, end := range []string{"\n", "\r\n", `\n`, `\\r\\n`} {
				for before := range width {
					plain := strings.Repeat("<", before) + secret + "zz"
					text := base64.StdEncoding.EncodeToString([]byte(plain))
					from, to := (before*8+5)/6, (before+length)*8/6
					if width == 60 { // hex in lines of 60 characters, as xxd prints it
						text, from, to = hex.EncodeToString([]byte(plain)), 2*before, 2*(before+length)
					}
					var wrapped strings.Builder
					for i := 0; i < len(text); i += width {
						wrapped.WriteString(text[i:min(i+width, len(text))] + end)
					}
					got := strings.ReplaceAll(s.Text(wrapped.String()), end, "")
					assert.Equal(t, got, text[:from]+hidden+text[to:], "%d bytes after %d, lines of %d and %q", length, before, width, end)
				}
			}
		}
	}
}

// TestEachLineOfAnEncodingIsMasked checks that wrapped encodings are masked even if each line is masked
// separately.
func TestEachLineOfAnEncodingIsMasked(t *testing.T) {
	r, secret := rand.New(rand.NewPCG(1, 2)), "sk-"
	for range 200 {
		secret += string(rune('a' + r.IntN(26)))
	}
	s := set(t, secret).Except(nil)
	for before := range 80 {
		plain := []byte(strings.Repeat("<", before) + secret)
		for width, text := range map[int]string{64: base64.StdEncoding.EncodeToString(plain), 76: base64.URLEncoding.EncodeToString(plain), 60: hex.EncodeToString(plain)} {
			begins, ends := (before*8+5)/6, len(strings.TrimRight(text, "="))
			if width == 60 {
				begins = 2 * before
			}
			for i := 0; i < len(text); i += width {
				line := text[i:min(i+width, len(text))]
				from, to := min(max(begins-i, 0), len(line)), min(ends-i, len(line))
				want := line
				if to-from >= MinLength {
					want = line[:from] + hidden + line[to:]
				}
				assert.Check(t, is.Equal(s.Text("1: \""+line+"\",\r\n"), "1: \""+want+"\",\r\n"), "%d bytes before, lines of %d", before, width)
			}
		}
	}
}

// TestManyWordsCostLittle runs into its timeout if Text searches for each word in a long secret.
func TestManyWordsCostLittle(t *testing.T) {
	secret := make([]byte, 50_000)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(secret); i++ {
		secret[i] = byte('!' + r.IntN(90))
	}
	text := strings.Repeat("some/word some-other ", 50_000)
	assert.Check(t, set(t, string(secret)).Text(text) == text)
}

func TestLinesAreSecretsToo(t *testing.T) {
	pem := "-----BEGIN KEY-----\r\nAAAABBBBCCCC\r\n  DDDDEEEE  \nshort\n-----END KEY-----\n"
	s := set(t, pem)
	got := s.Text("log: AAAABBBBCCCC | DDDDEEEE | short | " + marshal(t, pem))
	assert.Check(t, is.Equal(got, `log: *** | *** | short | "***\n"`))
	for _, value := range s.Values() {
		assert.Check(t, !strings.ContainsAny(value, "\r\n"), "%q has a line break", value)
		assert.Check(t, len(value) >= MinLength, "%q is too short", value)
	}
}

func TestShortValuesAreReported(t *testing.T) {
	s, short := New(map[string]string{
		"PIN": "7654321", "PADDED": " \t7654321\n", "LINES": "1234567\nabcdefg", "EMPTY": "", "BLANK": " \n ", "GOOD": "abcdeabc",
	})
	assert.Check(t, is.DeepEqual(short, []string{"LINES", "PADDED", "PIN"}))
	text := "7654321 NzY1NDMyMQ 37363534333231 1234567\nabcdefg abcdeabc"
	assert.Check(t, is.Equal(s.Text(text), "7654321 NzY1NDMyMQ 37363534333231 *** ***"), text)
}

// alike returns random secrets that consist of few different letters, and a text that contains them. The
// secrets overlap, contain each other and share prefixes.
func alike(r *rand.Rand) ([]string, string) {
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "aab"[r.IntN(3)]
		}
		return string(b)
	}
	secrets := []string{word(8 + r.IntN(8))}
	for range r.IntN(4) {
		earlier := secrets[r.IntN(len(secrets))]
		secrets = append(secrets, earlier[r.IntN(4):]+word(4+r.IntN(8)))
	}
	text := ""
	for range r.IntN(8) {
		secret := secrets[r.IntN(len(secrets))]
		text += word(r.IntN(6)) + secret[:r.IntN(len(secret)+1)] + secret
	}
	return secrets, text
}

func TestOverlappingSecretsAreMasked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		secrets, text := alike(r)
		s := set(t, secrets...)
		want := []byte(text) // the result of a simple reference implementation
		for _, form := range s.forms {
			for i := 0; i+len(form) <= len(text); i++ {
				if text[i:i+len(form)] == form {
					copy(want[i:], strings.Repeat("*", len(form)))
				}
			}
		}
		filled := readBack(t, s, text, 1+r.IntN(9))
		assert.Equal(t, filled, string(want), "secrets %q in %q", secrets, text)
		if got := s.Text(text); strings.ReplaceAll(got, "*", "") != strings.ReplaceAll(filled, "*", "") {
			t.Fatalf("secrets %q in %q\ngot  %s\nwant %s with its asterisks squeezed", secrets, text, got, filled)
		}
	}
}

func TestPartialPrefix(t *testing.T) {
	s := set(t, "sk-secret-value")
	for text, want := range map[string]int{
		"ret-value and more": 9, "no": 0, "": 0, "sk-secret-value": 0, "sk-secret-valu": 0,
		"2VjcmV0LXZhbHVl is base64": 15, "2Vjcm\nV0LXZhbHVl": 16, "\nV0LXZhbHVl": 11,
	} {
		assert.Check(t, is.Equal(s.PartialPrefix(text), want), "rest %q", text)
	}
}

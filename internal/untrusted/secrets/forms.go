package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escapedForms returns a text as it appears in URLs, JSON, HTML and quoted strings in logs.
func escapedForms(text string) []string {
	query := url.QueryEscape(text)
	path := url.PathEscape(text)
	component := strings.ReplaceAll(query, "+", "%20")
	js, goJS := insideJSON(text, false), insideJSON(text, true)
	return []string{
		query, path, component, lowerPercent(query), lowerPercent(path), lowerPercent(component),
		js, goJS, ascii(js), ascii(goJS),
		insideJSON(js, false), insideJSON(js, true), insideJSON(goJS, true), // for an event that contains a JSON file as a string
		trimQuotes(strconv.Quote(text)), trimQuotes(strconv.QuoteToASCII(text)),
		html.EscapeString(text),
	}
}

// lowerPercent converts percent escapes to lower case, for example %2F to %2f.
func lowerPercent(escaped string) string {
	out := []byte(escaped)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i:], bytes.ToLower(out[i:i+3]))
		}
	}
	return string(out)
}

// insideJSON returns a text encoded as a JSON string, without the quotes. If forHTML is set, <, > and & are
// escaped, as Go's encoder does by default.
func insideJSON(text string, forHTML bool) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(forHTML)
	if enc.Encode(text) != nil {
		return text
	}
	return trimQuotes(strings.TrimSuffix(out.String(), "\n"))
}

// ascii escapes the non-ASCII characters in a JSON string, as Python's json module does.
func ascii(inside string) string {
	var out strings.Builder
	for _, r := range inside {
		if r < utf8.RuneSelf {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out.WriteString(`\u` + hex.EncodeToString([]byte{byte(unit >> 8), byte(unit)}))
		}
	}
	return out.String()
}

// trimQuotes removes the first and the last byte.
func trimQuotes(s string) string { return s[1 : len(s)-1] }

// base64Forms returns the base64 forms of a text, both alone and inside of a longer text.
func base64Forms(text string) []string {
	var forms []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			// The characters from from to to depend only on text, if before bytes precede text in a group of three
			// bytes. If text is the end of the input, the characters after them depend only on text too.
			all := enc.EncodeToString(append(make([]byte, before), text...))
			from := (before*8 + 5) / 6
			to := (before + len(text)) * 8 / 6
			forms = append(forms, all[from:to], all[from:])
		}
	}
	return forms
}

// wrappedLines returns the lines that programs print if they wrap the base64 of a long text. A log that masks
// each line separately needs them.
func wrappedLines(text string) (lines []string) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, width := range []int{64, 76} { // widths of PEM and MIME
			encoding := []byte(enc.EncodeToString([]byte(text)))
			for line := range slices.Chunk(encoding, width) {
				if len(line) >= MinLength && len(line) < len(encoding) {
					lines = append(lines, string(line))
				}
			}
		}
	}
	return lines
}

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

// linesOf returns the lines of a value that are long enough, for most logs show a
// text line by line.
func linesOf(value string) []string {
	var lines []string
	for line := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); len(line) >= MinLength {
			lines = append(lines, line)
		}
	}
	return lines
}

// addForms adds the forms of a text that have Shortest bytes or more, and whether they are encodings that tools wrap into lines.
func addForms(known map[string]bool, text string) {
	if len(text) < MinLength {
		return
	}
	inHex := hex.EncodeToString([]byte(text))
	encodings := append(encoded(text), inHex, strings.ToUpper(inHex))
	for i, form := range append(encodings, append(escaped(text), text)...) {
		if len(form) >= MinLength {
			known[form] = known[form] || i < len(encodings)
		}
	}
}

// escaped returns a text as it stands in URLs, in JSON, in HTML and between the
// quotes of a log.
func escaped(text string) []string {
	query := url.QueryEscape(text)
	path := url.PathEscape(text)
	component := strings.ReplaceAll(query, "+", "%20")
	js, goJS := jsoned(text, false), jsoned(text, true)
	return []string{
		query, path, component, lowerPercent(query), lowerPercent(path), lowerPercent(component),
		js, goJS, ascii(js), ascii(goJS),
		jsoned(js, false), jsoned(js, true), jsoned(goJS, true), // an event that quotes a file that is JSON
		unquoted(strconv.Quote(text)), unquoted(strconv.QuoteToASCII(text)),
		html.EscapeString(text),
	}
}

// lowerPercent writes the digits of escapes like %2F small.
func lowerPercent(escaped string) string {
	out := []byte(escaped)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i:], bytes.ToLower(out[i:i+3]))
		}
	}
	return string(out)
}

// jsoned returns the inside of a JSON string; forHTML is how Go's encoder writes
// it unless told otherwise.
func jsoned(text string, forHTML bool) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(forHTML)
	if enc.Encode(text) != nil {
		return text
	}
	return unquoted(strings.TrimSuffix(out.String(), "\n"))
}

// ascii replaces what is not ASCII in the inside of a JSON string, as Python does.
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

func unquoted(s string) string { return s[1 : len(s)-1] }

// encoded returns the text in base64, as part of something longer and by itself.
func encoded(text string) []string {
	var forms []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			forms = append(forms, inside(enc, text, before)...)
		}
	}
	return forms
}

// inside returns the characters that depend on the text alone when so many other
// bytes of a group of three come before it: with the last one that the text alone
// makes up, and, for a text that is the end, with the one that is filled up.
func inside(enc *base64.Encoding, text string, before int) []string {
	all := enc.EncodeToString(append(make([]byte, before), text...))
	from := (before*8 + 5) / 6
	to := (before + len(text)) * 8 / 6
	return []string{all[from:to], all[from:]}
}

// wrapped returns the lines that tools print of the base64 of a long text: a log that masks by the line sees no others.
func wrapped(text string) (lines []string) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, width := range []int{64, 76} { // of PEM and of MIME
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

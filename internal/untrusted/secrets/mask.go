// Package secrets masks known secret values in everything that leaves the program.
//
// It knows the encodings in which tools and loggers print a value. It judges by their names which environment
// variables contain secrets, and which must be withheld. It does not know where text comes from or where it
// goes.
package secrets

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// MinLength is the minimum length of a form in bytes. A form is a secret value, or one line of it, in a
// particular encoding. Shorter forms are not masked, because they would match ordinary words.
const MinLength = 8

// hidden is the text that replaces a secret.
const hidden = "***"

// Set is a set of secret values with all their forms. It is immutable and safe for concurrent use. A nil
// *Set is empty.
type Set struct {
	forms   []string            // all forms, the longest first
	byStart map[uint64][]string // forms by their first MinLength bytes, the longest form first
	starts  map[string]bool     // all prefixes of forms that are shorter than MinLength
	likely  filter              // excludes most keys that byStart lacks
	wrapped string              // encodings that programs break into lines, one per line
	pieces  map[string]bool     // all substrings of wrapped encodings with MinLength bytes
	lines   []string            // base64 of long values, broken into lines as by most programs
}

// New returns the set of the values, which are given by name. It also returns the sorted names of values
// that can't be masked, because each of their lines is shorter than MinLength. White space around a value or
// line is ignored, and so are empty values.
func New(values map[string]string) (*Set, []string) {
	s := &Set{byStart: map[uint64][]string{}, starts: map[string]bool{}, pieces: map[string]bool{}}
	known := map[string]bool{} // all forms; the value is true for encodings that programs break into lines
	var short []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := strings.TrimSpace(values[name])
		var lines []string // masked separately, because most logs show a text line by line
		for line := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if line = strings.TrimSpace(line); len(line) >= MinLength {
				lines = append(lines, line)
			}
		}
		if value != "" && len(lines) == 0 {
			short = append(short, name)
		}
		for _, text := range append(lines, value) {
			if len(text) < MinLength {
				continue
			}
			inHex := hex.EncodeToString([]byte(text))
			encodings := append(base64Forms(text), inHex, strings.ToUpper(inHex))
			for i, form := range append(encodings, append(escapedForms(text), text)...) {
				if len(form) >= MinLength {
					known[form] = known[form] || i < len(encodings)
				}
			}
			s.lines = append(s.lines, wrappedLines(text)...)
		}
	}
	s.forms = slices.SortedFunc(maps.Keys(known), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	for _, form := range s.forms {
		s.index(form, known[form])
	}
	return s, short
}

// index adds a form to the fields with which forms are found. isEncoding means that programs break the form
// into lines.
func (s *Set) index(form string, isEncoding bool) {
	if isEncoding && !strings.Contains(s.wrapped, form) {
		s.wrapped += form + "\n"
		for end := MinLength; end <= len(form); end++ {
			s.pieces[form[end-MinLength:end]] = true
		}
	}
	key := binary.LittleEndian.Uint64([]byte(form[:MinLength]))
	s.likely.add(key)
	s.byStart[key] = append(s.byStart[key], form)
	for n := 1; n < MinLength; n++ {
		s.starts[form[:n]] = true
	}
}

// Values returns all forms without line breaks, for a log that masks values itself. The result includes the
// lines of longer forms and of wrapped base64, if they have at least MinLength bytes.
func (s *Set) Values() []string {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Concat(s.forms, s.lines), func(form string) bool {
		return strings.ContainsAny(form, "\r\n")
	})
}

// Text returns a text in which each secret is replaced by three asterisks. Secrets that overlap are replaced
// together.
func (s *Set) Text(text string) string {
	if s == nil || len(s.forms) == 0 || len(text) < MinLength {
		return text
	}
	c := scan{set: s, buf: []byte(text)}
	if at, _ := s.find(c.buf, 0, true, new(int)); at == len(text) {
		return s.withoutPieces(text)
	}
	var out strings.Builder
	c.advance(true, starSink{&out})
	return s.withoutPieces(out.String())
}

// PartialPrefix returns the length of the longest end of a secret with which the text begins. Use it for a
// text whose beginning was cut off.
func (s *Set) PartialPrefix(text string) int {
	longest := 0
	if s == nil {
		return longest
	}
	for _, form := range s.forms {
		for from := 1; from < len(form); from++ {
			if n, _ := match(form[from:], []byte(text), true); n > 0 {
				longest = max(longest, n)
				break
			}
		}
	}
	return longest
}

// find returns the first index in b, starting at i, at which a form begins, and the length of the longest
// form there. If no form begins in b, it returns len(b) and 0. If final is not set, more bytes may follow
// b. If find needs these bytes to decide about an index, it returns the index and 0. line caches the index of the
// next line break between calls. Its first value is 0.
func (s *Set) find(b []byte, i int, final bool, line *int) (at, n int) {
	for ; i < len(b); i++ {
		if *line <= i {
			for *line = i + 1; *line < len(b) && strings.IndexByte("\n\r\\", b[*line]) < 0; *line++ {
			}
		}
		n, open := s.at(b[i:], *line-i)
		if open && !final {
			return i, 0
		}
		if n > 0 {
			return i, n
		}
	}
	return len(b), 0
}

// at returns the length of the longest form at the start of b. open reports whether b may be the beginning of
// a longer form. line is the index of the first byte that may belong to a line break.
func (s *Set) at(b []byte, line int) (n int, open bool) {
	if len(b) < MinLength {
		open = s.starts[string(b)]
	} else if key := binary.LittleEndian.Uint64(b); s.likely.has(key) {
		n, open = longest(s.byStart[key], b)
	}
	if line >= min(len(b), MinLength) || !s.starts[string(b[:line])] {
		return n, open
	}
	joined, length := joinedStart(b)
	if length < MinLength {
		return n, open || s.starts[string(joined[:length])]
	}
	more, isOpen := longest(s.byStart[binary.LittleEndian.Uint64(joined[:])], b)
	return max(n, more), open || isOpen
}

// longest returns the length of the longest of the forms with which b begins. The forms must be sorted,
// longest first. open reports whether b may be the beginning of a longer form.
func longest(forms []string, b []byte) (n int, open bool) {
	for _, form := range forms {
		length, isOpen := match(form, b, false)
		open = open || isOpen
		if n = max(n, length); n > 0 {
			break
		}
	}
	return n, open
}

// filter is a Bloom filter. It excludes nearly all keys that were not added.
type filter [1 << 10]uint64

func (f *filter) add(key uint64) {
	h := hash(key)
	f[h>>6] |= 1 << (h & 63)
}

// has returns true for each key that was added, and for few others.
func (f *filter) has(key uint64) bool {
	h := hash(key)
	return f[h>>6]&(1<<(h&63)) != 0
}

// hash returns a 16-bit hash of a key. It multiplies the key by an odd constant and returns the upper bits,
// which depend on all bits of the key.
func hash(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> 48 }

// Except returns the set without the forms that occur in any of the words. Masking a word that is on every
// page hides nothing. Masking a word in a file that this program writes would break the file.
func (s *Set) Except(words []string) *Set {
	if s == nil {
		return nil
	}
	out := &Set{byStart: map[uint64][]string{}, starts: map[string]bool{}, pieces: map[string]bool{}}
	out.lines = slices.DeleteFunc(slices.Clone(s.lines), func(line string) bool { return isPart(line, words) })
	for _, form := range s.forms {
		if !isPart(form, words) {
			out.forms = append(out.forms, form)
			out.index(form, strings.Contains(s.wrapped, form))
		}
	}
	return out
}

// Unmaskable returns the sorted names of the values that Except would not mask: without white space around
// them, they occur in a word.
func Unmaskable(values map[string]string, words []string) []string {
	var names []string
	for name, value := range values {
		if text := strings.TrimSpace(value); len(text) >= MinLength && isPart(text, words) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isPart reports whether a text occurs in any of the words.
func isPart(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, text) })
}

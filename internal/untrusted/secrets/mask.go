// Package secrets replaces known secret values in whatever leaves the program.
//
// It knows how a value looks after the encodings that tools and loggers put it
// through, and which variables of an environment hold secrets or are to be
// withheld, by their names. It does not know where text comes from or goes to.
package secrets

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// MinLength is the length in bytes from which on a form is looked for. Anything
// shorter would hit words that are no secrets.
const MinLength = 8

// hidden stands for one secret.
const hidden = "***"

// Set is a set of secret values with the forms that each of them can take. It
// never changes and may be used by many goroutines. The nil Set is empty.
type Set struct {
	forms   []string            // the longest first
	byStart map[uint64][]string // by the first Shortest bytes, the longest first
	starts  map[string]bool     // all beginnings that are shorter than that
	likely  filter              // which keys byStart may have
	wrapped string              // the encodings that tools wrap into lines, one per line
	pieces  map[string]bool     // the parts of those that are as long as Shortest
	lines   []string            // of base64, as most tools wrap it
}

// New returns the set of the values, which are given by name, and the sorted
// names of those that can't be masked: the value, or each of its lines when it
// has several, is shorter than Shortest. White space around a value, or around
// one of its lines, does not count, and empty values are no secrets.
func New(values map[string]string) (*Set, []string) {
	s := &Set{byStart: map[uint64][]string{}, starts: map[string]bool{}, pieces: map[string]bool{}}
	known := map[string]bool{}
	var short []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := strings.TrimSpace(values[name])
		lines := linesOf(value)
		if value != "" && len(lines) == 0 {
			short = append(short, name)
		}
		for _, text := range append(lines, value) {
			addForms(known, text)
			s.lines = append(s.lines, wrapped(text)...)
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

// Values returns every form that fits on a line, for a log that does masking of its own. The lines of other forms, and those of
// wrapped base64, are among them as far as they are long enough.
func (s *Set) Values() []string {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Concat(s.forms, s.lines), func(form string) bool {
		return strings.ContainsAny(form, "\r\n")
	})
}

// Text returns the text with three asterisks for each secret. Of secrets that
// overlap nothing is left, and they count as one.
func (s *Set) Text(text string) string {
	if s == nil || len(s.forms) == 0 || len(text) < MinLength {
		return text
	}
	c := scan{set: s, buf: []byte(text)}
	if at, _ := s.find(c.buf, 0, true, new(int)); at == len(text) {
		return s.withoutPieces(text)
	}
	var out strings.Builder
	c.advance(true, starred{&out})
	return s.withoutPieces(out.String())
}

// PartialPrefix returns how many bytes at the beginning of a text, which was cut off from
// what came before it, may be the end of a secret.
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

// find returns the first position from i on where a form begins, with the length
// of the longest one; or, unless b is final, the first position, with length 0,
// where more bytes are needed to know. Else it returns the length of b. It keeps
// where the next line break may be, 0 at first.
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

// at returns the length of the longest form that b begins with, and whether b may be the
// beginning of a longer one. The first line break may be after so many bytes.
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

// longest returns the length of the longest form that b begins with, and whether
// b may be the beginning of a longer one. The forms come longest first.
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

// filter says quickly of nearly all keys that are not in it that they are not.
type filter [1 << 10]uint64

func (f *filter) add(key uint64) {
	h := hash(key)
	f[h>>6] |= 1 << (h & 63)
}

func (f *filter) has(key uint64) bool {
	h := hash(key)
	return f[h>>6]&(1<<(h&63)) != 0
}

// hash spreads keys over 16 bits: a multiplication by an odd number without
// pattern, of which the upper bits depend on all of the key.
func hash(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> 48 }

// Except returns the set without those forms that are part of one of the words:
// what is on every page anyway hides nothing, and a word that is replaced in a
// file of ours breaks it.
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

// Unmaskable returns the sorted names of those values that, but for white space around
// them, are part of one of the words.
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

func isPart(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, text) })
}

package keyproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Fields are the fields of a vendor's requests that say what an answer may cost, by the names that
// lead to them, as in "generationConfig.candidateCount".
type Fields struct {
	Model    string   // the model; "" where it is not in the body
	Output   []string // how many tokens the answer may have
	One      []string // how many answers there are, of which only one can be paid for
	Standard []string // how dear they are: what the list of prices doesn't say is refused
	Refused  []string // what is refused if it is true
	Client   []string // the types of tools that the client runs, without their dates; none where tools have no types
	Services []string // what has the vendor run something, beside tools, such as servers of tools
	Opaque   []string // the names of values that are the model's or a tool's own, such as arguments
	Known    []string // the fields of a request itself; none for any
}

var (
	errNoJSON = errors.New("a request that names something twice, or is no JSON object, can't be counted")
	// standard is what a tier, a speed or a region is whose prices are those of the list.
	standard = []string{`null`, `""`, `"auto"`, `"default"`, `"standard"`, `"standard_only"`, `"global"`}
)

// Read reads the body of a request, and finds its images. Names that stand twice in an object are an
// error: nobody knows which of them the API takes.
func (f Fields) Read(body io.Reader) (r Request, err error) {
	d := jsontext.NewDecoder(body)
	var names []string // those that lead to where the decoder stands
	if d.PeekKind() != '{' {
		return r, errNoJSON
	}
	for d.StackDepth() > 0 || d.InputOffset() == 0 {
		at, kind := names[:min(len(names), d.StackDepth())], d.PeekKind()
		if d.StackDepth() == 1 && isValueOf(d, at, f.Services...) && kind != 'n' && kind != 'f' {
			r.Uses = append(r.Uses, at[0])
		}
		switch kind {
		case '{', '[':
			err = f.open(&r, d, at)
		case '}', ']':
			_, err = d.ReadToken()
			names = names[:min(len(names), d.StackDepth())]
		default:
			names, err = f.value(&r, d, names)
		}
		if err != nil {
			return r, err
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return r, errNoJSON
	}
	return r, nil
}

// open reads the beginning of an object or a list, or all of one that is read otherwise.
func (f Fields) open(r *Request, d *jsontext.Decoder, names []string) error {
	switch {
	case isValueOf(d, names, f.Opaque...), isValueOf(d, names, schemas...):
		return d.SkipValue()
	case isValueOf(d, names, "tools"):
		return f.tools(r, d)
	}
	// It may stand where a single value is expected.
	if err := f.take(r, strings.Join(names, "."), jsontext.Value{byte(d.PeekKind())}); err != nil {
		return err
	}
	_, err := d.ReadToken()
	return err
}

// value reads a name or a value, and returns the names that lead there.
func (f Fields) value(r *Request, d *jsontext.Decoder, names []string) ([]string, error) {
	v, err := d.ReadValue()
	depth := d.StackDepth()
	if err != nil || depth == 0 {
		return names, errNoJSON
	}
	for len(names) < depth {
		names = append(names, "") // a list has no name; nor has what is in it
	}
	if in, n := d.StackIndex(depth); in == '{' && n%2 == 1 {
		names[depth-1] = text(v)
		if depth == 1 {
			f.note(r, names[0])
		}
		return names, nil
	}
	if isImage(v) {
		r.Pictures++
		r.Packed += int64(len(v))
	}
	r.look(names[:depth], v)
	if depth > deepest {
		return names, nil
	}
	return names, f.take(r, strings.Join(names[:depth], "."), v)
}

// note notes a field at the top that nobody knows.
func (f Fields) note(r *Request, name string) {
	if len(f.Known) > 0 && len(r.Unknown) < mostTold && !slices.Contains(f.Known, name) {
		r.Unknown = append(r.Unknown, name)
	}
}

var (
	// schemas are the names of JSON schemas of answers; those of tools stand in lists of tools.
	schemas = []string{"schema", "responseSchema", "response_schema", "responseJsonSchema", "response_json_schema"}
	// fetched are the names of what a vendor gets from elsewhere, if it isn't there itself.
	fetched = []string{"image_url", "audio_url", "video_url", "file_url", "file_id", "fileUri", "file_uri"}
)

// look finds in a value at the end of names what has the vendor fetch something, and how long it is
// to keep something in its cache.
func (r *Request) look(names []string, v jsontext.Value) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	if v.Kind() != '"' || len(names) == 0 {
		return
	}
	last, in := names[len(names)-1], names[:len(names)-1]
	isURL := last == "url" && len(in) > 0 && (in[len(in)-1] == "source" || slices.Contains(fetched, in[len(in)-1]))
	switch {
	case last == "ttl" && string(v) == `"1h"`:
		r.IsHour = true
	case r.Fetches == "" && (isURL || slices.Contains(fetched, last)) && len(v) > len(`""`) && !bytes.HasPrefix(v, []byte(`"data:`)):
		r.Fetches = strings.Join(in[max(0, len(in)-1):], "") + "." + last
	}
}

// deepest is how deep a field lies that says what an answer may cost.
const deepest = 2

func (f Fields) take(r *Request, path string, v jsontext.Value) error {
	switch {
	case path == f.Model:
		r.Model = text(v)
	case slices.Contains(f.Output, path):
		r.Output = max(r.Output, number(v))
	case slices.Contains(f.One, path) && string(v) != "1" && string(v) != "null":
		return fmt.Errorf("%s: more than one answer to a request is not forwarded", path)
	case slices.Contains(f.Standard, path) && !slices.Contains(standard, string(v)):
		return fmt.Errorf("%s: %s may cost more than the list of prices says, and is not forwarded", path, v)
	case slices.Contains(f.Refused, path) && string(v) != "false" && string(v) != "null":
		return fmt.Errorf("%s: what the answer would cost can't be counted", path)
	}
	return nil
}

// images are how images in base64 begin: as a data URL, PNG, JPEG, GIF, WebP.
var images = [][]byte{[]byte(`"data:image/`), []byte(`"iVBORw0K`), []byte(`"/9j/`), []byte(`"R0lGOD`), []byte(`"UklGR`)}

func isImage(v jsontext.Value) bool {
	return slices.ContainsFunc(images, func(i []byte) bool { return bytes.HasPrefix(v, i) })
}

// number is a number of a request, which some APIs take as a string too; 0 for any other value.
func number(v jsontext.Value) int64 { return Count(bytes.Trim(v, `"`)) }

// text is a string of a request; "" for any other value.
func text(v jsontext.Value) string {
	t, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(t)
}

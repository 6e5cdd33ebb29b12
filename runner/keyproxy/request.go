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
	if d.PeekKind() != '{' {
		return r, errNoJSON
	}
	if err := f.read(&r, d, nil); err != nil {
		return r, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return r, errNoJSON
	}
	return r, nil
}

// read reads the value to which names lead. What is in a list has the name "".
func (f Fields) read(r *Request, d *jsontext.Decoder, names []string) error {
	name, kind := "", d.PeekKind()
	if len(names) > 0 {
		name = names[len(names)-1]
	}
	if len(names) == 1 && slices.Contains(f.Services, name) && kind != 'n' && kind != 'f' {
		r.Uses = append(r.Uses, name)
	}
	isMany := kind == '{' || kind == '['
	if isMany && name != "tools" {
		return f.inner(r, d, names)
	}
	v, err := d.ReadValue()
	switch {
	case err != nil:
		return errNoJSON
	case isMany:
		return f.tools(r, v)
	case isImage(v):
		r.Pictures++
		r.Packed += int64(len(v))
	}
	r.look(names, v)
	if len(names) > deepest {
		return nil
	}
	return f.take(r, strings.Join(names, "."), v)
}

// inner reads an object or a list.
func (f Fields) inner(r *Request, d *jsontext.Decoder, names []string) error {
	if n := len(names) - 1; n >= 0 && (slices.Contains(f.Opaque, names[n]) || slices.Contains(schemas, names[n])) {
		return d.SkipValue()
	}
	begin, err := d.ReadToken()
	if err == nil { // it may stand where a single value is expected
		err = f.take(r, strings.Join(names, "."), jsontext.Value{byte(begin.Kind())})
	}
	for isObject := begin.Kind() == '{'; err == nil && d.PeekKind() != '}' && d.PeekKind() != ']'; {
		name := ""
		if isObject {
			t, err := d.ReadToken()
			if err != nil {
				return errNoJSON
			}
			if name = t.String(); len(names) == 0 {
				f.note(r, name)
			}
		}
		err = f.read(r, d, append(names, name))
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
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

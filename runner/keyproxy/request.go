package keyproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// RequestFields are the fields of a vendor's requests that say what an answer may cost, by the names that
// lead to them, as in "generationConfig.candidateCount".
type RequestFields struct {
	Model          string   // the model; "" where it is not in the body
	Output         []string // how many tokens the answer may have
	PriceFactors   []string // what the price depends on: tier, speed, region, number of answers. Only the values in standard pass
	ClientTools    []string // the types of tools that the client runs, without their dates; none where tools have no types
	VendorServices []string // what has the vendor run something, beside tools, such as servers of tools
	Opaque         []string // the names of values that are the model's or a tool's own, such as arguments
	Known          []string // the fields of a request itself; none for any
	Pictures       []string // the places of pictures, without the indexes of lists, as in "contents.parts.inlineData"
	StoredObjects  []string // the places that refer to objects stored by the API
}

var (
	errNoJSON = errors.New("a request that names something twice, or is no JSON object, can't be counted")
	// standard lists the values of a tier, a speed, a region or a number of answers at which the listed prices hold.
	standard = []string{`null`, `false`, `1`, `""`, `"auto"`, `"default"`, `"standard"`, `"standard_only"`, `"global"`}
)

// Read reads the body of a request. A name that stands twice in an object is an
// error: vendors differ in which of the two values they use.
func (f RequestFields) Read(body io.Reader) (r Request, err error) {
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
func (f RequestFields) read(r *Request, d *jsontext.Decoder, names []string) error {
	name, kind := "", d.PeekKind()
	if len(names) > 0 {
		name = names[len(names)-1]
	}
	if len(names) == 1 && slices.Contains(f.VendorServices, name) && kind != 'n' && kind != 'f' {
		r.VendorTools = append(r.VendorTools, name)
	}
	if len(names) > mostNested {
		return fmt.Errorf("a request that is nested more than %d deep is not forwarded", mostNested)
	}
	path := ""
	if name != "" { // an entry of a list is treated as the list itself
		path = strings.Join(named(names), ".")
	}
	if slices.Contains(f.Pictures, path) {
		v, err := d.ReadValue()
		if err != nil {
			return errNoJSON
		}
		r.picture(v)
		d = jsontext.NewDecoder(bytes.NewReader(v))
	} else if kind != 'n' && (slices.Contains(media, name) || slices.Contains(fetched, name) || slices.Contains(f.StoredObjects, path)) {
		r.IsUnbounded = true
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
		return f.tools(r, v, mostGroups)
	}
	r.look(named(names), v)
	if len(names) > deepest {
		return nil
	}
	return f.take(r, strings.Join(names, "."), v)
}

// inner reads an object or a list.
func (f RequestFields) inner(r *Request, d *jsontext.Decoder, names []string) error {
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
func (f RequestFields) note(r *Request, name string) {
	if len(f.Known) > 0 && len(r.UnknownFields) < mostTold && !slices.Contains(f.Known, name) {
		r.UnknownFields = append(r.UnknownFields, name)
	}
}

var (
	// schemas are the names of JSON schemas of answers; those of tools stand in lists of tools.
	schemas = []string{"schema", "responseSchema", "response_schema", "responseJsonSchema", "response_json_schema"}
	// fetched are the names of what a vendor gets from elsewhere, if it isn't there itself.
	fetched = []string{"image_url", "audio_url", "video_url", "file_url", "file_id", "fileUri", "file_uri"}
	// media are the names of fields whose contents may cost more tokens than they have bytes.
	media = []string{"source", "inlineData", "inline_data", "file_data", "input_audio"}
)

// mostNested is how deep a request may be nested; schemas and arguments, which are skipped, may be deeper.
const mostNested = 32

// named returns names without the empty ones, which stand for the indexes of lists.
func named(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
}

// picture counts the value at the place of a picture. A value that is not a picture may cost any number of tokens.
func (r *Request) picture(v jsontext.Value) {
	var p tool
	_ = json.Unmarshal(v, &p)
	kind, size := string(p["media_type"])+string(p["mimeType"])+string(p["mime_type"]), len(p["data"])
	isPicture := strings.HasPrefix(kind, `"image/`) && strings.Count(kind, `"`) == 2
	if v.Kind() == '"' {
		isPicture, size = bytes.HasPrefix(v, []byte(`"data:image/`)), len(v)
	}
	if isPicture {
		r.Pictures++
		r.PictureBytes += int64(size)
	} else if v.Kind() != 'n' {
		r.IsUnbounded = true
	}
}

// look finds in a string at the end of names what has the vendor fetch something, how long it keeps
// something in its cache, and whether it has the model read the prompt more than once.
func (r *Request) look(names []string, v jsontext.Value) {
	if v.Kind() != '"' || len(names) == 0 {
		return
	}
	last, in := names[len(names)-1], names[:len(names)-1]
	isURL := last == "url" && len(in) > 0 && (in[len(in)-1] == "source" || slices.Contains(fetched, in[len(in)-1]))
	switch {
	case last == "ttl":
		r.CachesForHour = r.CachesForHour || string(v) != `"5m"`
	case last == "type" && names[0] == "context_management" && !bytes.HasPrefix(v, []byte(`"clear_`)):
		r.IsUnbounded = true // it compacts the conversation before it answers
	case r.Fetches == "" && (isURL || slices.Contains(fetched, last)) && len(v) > len(`""`) && !bytes.HasPrefix(v, []byte(`"data:`)):
		r.Fetches = strings.Join(in[max(0, len(in)-1):], "") + "." + last
	}
}

// deepest is how deep a field lies that says what an answer may cost.
const deepest = 2

func (f RequestFields) take(r *Request, path string, v jsontext.Value) error {
	switch {
	case path == f.Model:
		r.Model = text(v)
	case slices.Contains(f.Output, path):
		r.MaxOutput = max(r.MaxOutput, Count(bytes.Trim(v, `"`))) // some APIs take a number as a string too
	case slices.Contains(f.PriceFactors, path) && !slices.Contains(standard, string(v)):
		return fmt.Errorf("%s: %s may cost more than the list of prices says, and is not forwarded", path, v)
	}
	return nil
}

// text is a string of a request; "" for any other value.
func text(v jsontext.Value) string {
	t, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(t)
}

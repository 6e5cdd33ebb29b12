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

// RequestFields names the fields of a vendor's requests that determine the maximum cost of a response. A
// field is named by its path, as in "generationConfig.candidateCount".
type RequestFields struct {
	Model        string   // the model; "" if it is not in the body
	Output       []string // the maximum number of tokens in the response
	PriceFactors []string // tier, speed, region, number of responses; only the values in standardValues are forwarded
	ClientTools  []string // the types of tools that the client runs, without dates; nil if the API's tools have no types
	// VendorServices are fields other than tools that make the vendor run something, for example MCP servers.
	VendorServices []string
	// Opaque are the names of values that only the model or a tool interprets, for example arguments. Read
	// skips them.
	Opaque []string
	Known  []string // the known fields at the top level of a request; if nil, all fields are known
	// Pictures are the paths of pictures, without indexes of lists, as in "contents.parts.inlineData".
	Pictures      []string
	StoredObjects []string // the paths of references to objects that the API has stored
}

var (
	errNoJSON = errors.New("the request is not a JSON object without duplicate names, so its cost can't be determined")
	// standardValues are the values of a tier, a speed, a region or a number of responses for which the
	// list prices apply.
	standardValues = []string{`null`, `false`, `1`, `""`, `"auto"`, `"default"`, `"standard"`, `"standard_only"`, `"global"`}
)

// Read parses the body of a request. It returns an error if an object contains the same name twice, because
// vendors differ in which of the two values they use.
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

// read parses the value at a path into r. In names, an element of a list has the name "".
func (f RequestFields) read(r *Request, d *jsontext.Decoder, names []string) error {
	name, kind := "", d.PeekKind()
	if len(names) > 0 {
		name = names[len(names)-1]
	}
	if len(names) == 1 && slices.Contains(f.VendorServices, name) && kind != 'n' && kind != 'f' {
		r.VendorTools = append(r.VendorTools, name)
	}
	if len(names) > maxDepth {
		return fmt.Errorf("the request is nested more than %d levels deep and is not forwarded", maxDepth)
	}
	path := ""
	// An element of a list is treated like the list itself.
	if name != "" {
		path = strings.Join(withoutIndexes(names), ".")
	}
	if slices.Contains(f.Pictures, path) {
		v, err := d.ReadValue()
		if err != nil {
			return errNoJSON
		}
		r.addPicture(v)
		d = jsontext.NewDecoder(bytes.NewReader(v))
	} else if kind != 'n' && (slices.Contains(mediaFields, name) || slices.Contains(fetchFields, name) || slices.Contains(f.StoredObjects, path)) {
		r.IsUnbounded = true
	}
	isMany := kind == '{' || kind == '['
	if isMany && name != "tools" {
		return f.readNested(r, d, names)
	}
	v, err := d.ReadValue()
	switch {
	case err != nil:
		return errNoJSON
	case isMany:
		return f.tools(r, v, maxGroupDepth)
	}
	r.inspectString(withoutIndexes(names), v)
	if len(names) > maxFieldDepth {
		return nil
	}
	return f.takeField(r, strings.Join(names, "."), v)
}

// readNested parses an object or a list into r.
func (f RequestFields) readNested(r *Request, d *jsontext.Decoder, names []string) error {
	if n := len(names) - 1; n >= 0 && (slices.Contains(f.Opaque, names[n]) || slices.Contains(schemaFields, names[n])) {
		return d.SkipValue()
	}
	begin, err := d.ReadToken()
	// A field for a single value may contain an object or a list instead, and is checked too.
	if err == nil {
		err = f.takeField(r, strings.Join(names, "."), jsontext.Value{byte(begin.Kind())})
	}
	for isObject := begin.Kind() == '{'; err == nil && d.PeekKind() != '}' && d.PeekKind() != ']'; {
		name := ""
		if isObject {
			t, err := d.ReadToken()
			if err != nil {
				return errNoJSON
			}
			name = t.String()
			if len(names) == 0 && len(f.Known) > 0 && len(r.UnknownFields) < maxLoggedOnce && !slices.Contains(f.Known, name) {
				r.UnknownFields = append(r.UnknownFields, name)
			}
		}
		err = f.read(r, d, append(names, name))
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

var (
	// schemaFields are the names of fields that contain the JSON schema of a response. They are skipped.
	// The schemas of tools are in lists of tools, which the method tools parses.
	schemaFields = []string{"schema", "responseSchema", "response_schema", "responseJsonSchema", "response_json_schema"}
	// fetchFields are the names of fields that may refer to a file on another server.
	fetchFields = []string{"image_url", "audio_url", "video_url", "file_url", "file_id", "fileUri", "file_uri"}
	// mediaFields are the names of fields whose contents may cost more tokens than they have bytes.
	mediaFields = []string{"source", "inlineData", "inline_data", "file_data", "input_audio"}
)

// maxDepth is the maximum depth of a request. Opaque values and schemas may be deeper, because they are
// skipped.
const maxDepth = 32

// withoutIndexes returns a path without the empty names, which represent list indexes.
func withoutIndexes(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
}

// addPicture counts the value of a field for pictures. If the value is not a picture, it may cost any
// number of tokens, so r is marked as unbounded.
func (r *Request) addPicture(v jsontext.Value) {
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

// inspectString checks the string at a path and records in r three kinds of values. The first makes the
// vendor fetch something. The second keeps something in the vendor's cache for longer than five minutes.
// The third lets the model read the prompt more than once.
func (r *Request) inspectString(names []string, v jsontext.Value) {
	if v.Kind() != '"' || len(names) == 0 {
		return
	}
	last, in := names[len(names)-1], names[:len(names)-1]
	isURL := last == "url" && len(in) > 0 && (in[len(in)-1] == "source" || slices.Contains(fetchFields, in[len(in)-1]))
	switch {
	case last == "ttl":
		r.CachesForHour = r.CachesForHour || string(v) != `"5m"`
	case last == "type" && names[0] == "context_management" && !bytes.HasPrefix(v, []byte(`"clear_`)):
		r.IsUnbounded = true // the vendor compacts the conversation before it responds
	case r.Fetches == "" && (isURL || slices.Contains(fetchFields, last)) && len(v) > len(`""`) && !bytes.HasPrefix(v, []byte(`"data:`)):
		r.Fetches = strings.Join(in[max(0, len(in)-1):], "") + "." + last
	}
}

// maxFieldDepth is the maximum number of names in the path of a field that takeField handles.
const maxFieldDepth = 2

// takeField copies the value of a field into r if the field is the model or the maximum output. It returns
// an error if the value could raise the price.
func (f RequestFields) takeField(r *Request, path string, v jsontext.Value) error {
	switch {
	case path == f.Model:
		r.Model = text(v)
	case slices.Contains(f.Output, path):
		// Some APIs also accept a number as a string.
		r.MaxOutput = max(r.MaxOutput, Count(bytes.Trim(v, `"`)))
	case slices.Contains(f.PriceFactors, path) && !slices.Contains(standardValues, string(v)):
		return fmt.Errorf("%s: %s may cost more than the list price, so the request is not forwarded", path, v)
	}
	return nil
}

// text returns the string that v encodes. It returns "" if v is not a string.
func text(v jsontext.Value) string {
	t, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(t)
}

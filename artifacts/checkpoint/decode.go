package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeManifest reads and validates manifest.json. The error is an *Invalid.
func decodeManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := decodeJSON(manifestName, data, &m); err != nil {
		return Manifest{}, err
	}
	if err := m.validate(); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// decodeJSON reads one of our own JSON files into a struct: no field may be
// unknown, doubled, null or in another case, and only those with omitzero may be
// missing. The error is an *Invalid whose Path begins with the file's name.
func decodeJSON(file string, data []byte, to any) error {
	if err := checkTokens(file, data); err != nil {
		return err
	}
	var tree any
	if err := jsonv2.Unmarshal(data, &tree); err != nil {
		return invalidJSON(file, err)
	}
	if err := checkSchema(file, tree); err != nil {
		return err
	}
	if at, ok := missing(tree, reflect.TypeOf(to).Elem(), ""); ok {
		return &Invalid{place(file, at), "is missing"}
	}
	if err := jsonv2.Unmarshal(data, to, jsonv2.RejectUnknownMembers(true)); err != nil {
		return invalidJSON(file, err)
	}
	return nil
}

// checkTokens refuses null anywhere, and anything behind the one value.
func checkTokens(file string, data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := d.ReadToken()
		switch {
		case err != nil:
			return invalidJSON(file, err)
		case tok.Kind() == 'n':
			return &Invalid{place(file, member(d.StackPointer())), "is null, want a value"}
		case d.StackDepth() > 0:
			continue
		case len(bytes.TrimSpace(data[d.InputOffset():])) > 0:
			return &Invalid{file, "goes on after the end of its JSON value"}
		}
		return nil
	}
}

func checkSchema(file string, tree any) error {
	top, ok := tree.(map[string]any)
	if !ok {
		return &Invalid{file, "is no JSON object"}
	}
	at := place(file, "schema")
	schema, ok := top["schema"].(float64)
	switch {
	case !ok:
		return &Invalid{at, "is missing or no number"}
	case schema > Schema:
		return &Invalid{at, fmt.Sprintf("is %v, newer than the %d that this program reads; use a newer release", schema, Schema)}
	case schema < 1 || schema != float64(int(schema)):
		return &Invalid{at, fmt.Sprintf("is %v, want 1 to %d", schema, Schema)}
	}
	return nil
}

// missing finds the first field of our structs that a JSON tree lacks.
func missing(tree any, t reflect.Type, at string) (string, bool) {
	switch t.Kind() {
	case reflect.Pointer:
		return missing(tree, t.Elem(), at)
	case reflect.Slice:
		list, _ := tree.([]any)
		for i, e := range list {
			if path, ok := missing(e, t.Elem(), fmt.Sprintf("%s[%d]", at, i)); ok {
				return path, true
			}
		}
	case reflect.Struct:
		if object, ok := tree.(map[string]any); ok && t.PkgPath() == reflect.TypeFor[Manifest]().PkgPath() {
			return missingMember(object, t, at)
		}
	}
	return "", false
}

func missingMember(object map[string]any, t reflect.Type, at string) (string, bool) {
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		here := strings.TrimPrefix(at+"."+name, ".")
		value, ok := object[name]
		if !ok && option != "omitzero" {
			return here, true
		}
		if !ok {
			continue
		}
		if path, ok := missing(value, f.Type, here); ok {
			return path, true
		}
	}
	return "", false
}

// invalidJSON turns an error of the JSON library into an *Invalid.
func invalidJSON(file string, err error) error {
	var syntax *jsontext.SyntacticError
	var semantic *jsonv2.SemanticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Invalid{file, "is empty or cut off"}
	case errors.As(err, &syntax):
		what := strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")
		return &Invalid{place(file, member(syntax.JSONPointer)), what}
	case errors.As(err, &semantic):
		what := "has the wrong type"
		if semantic.Err != nil {
			what = strings.TrimPrefix(semantic.Err.Error(), "json: ")
		}
		return &Invalid{place(file, member(semantic.JSONPointer)), what}
	}
	return &Invalid{file, err.Error()}
}

func place(file, at string) string {
	if at == "" {
		return file
	}
	return file + ": " + at
}

// member words a JSON pointer as people write it: files[2].sha256.
func member(p jsontext.Pointer) string {
	var out strings.Builder
	for tok := range p.Tokens() {
		switch {
		case tok != "" && strings.Trim(tok, "0123456789") == "":
			out.WriteString("[" + tok + "]")
		case out.Len() > 0:
			out.WriteString("." + tok)
		default:
			out.WriteString(tok)
		}
	}
	return out.String()
}

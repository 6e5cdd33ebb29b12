package claude

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// typeOf returns the type of a record in a transcript or in the CLI's output. head may be only the
// beginning of the record. The result is "" if head doesn't contain the type.
func typeOf(head []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(head), jsonstrict.Loose)
	if dec.PeekKind() != '{' {
		return ""
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		if name, _ := dec.ReadToken(); name.String() != "type" {
			err = dec.SkipValue()
			continue
		}
		if value, err := dec.ReadToken(); err == nil && value.Kind() == '"' {
			return value.String()
		}
		break
	}
	return ""
}

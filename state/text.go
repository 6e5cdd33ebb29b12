package state

import (
	"encoding/json"
	"unicode/utf8"
)

// Text is the output of an agent or a script, byte for byte. In JSON it is a string if it is valid UTF-8,
// and otherwise an object like {"base64": "…"}, so that no byte is lost.
type Text string

// encodedText is the JSON form of a Text that is not valid UTF-8.
type encodedText struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return Marshal(string(t))
	}
	return Marshal(encodedText{[]byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw encodedText
		err := json.Unmarshal(data, &raw)
		*t = Text(raw.Base64)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

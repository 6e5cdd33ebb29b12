package checkpoint

import (
	"errors"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// decodeManifest reads and validates manifest.json. The error is an *Invalid.
func decodeManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := decodeJSON(manifestName, data, &m); err != nil {
		return Manifest{}, err
	}
	return m, m.validate()
}

// decodeJSON reads one of our own JSON files into a struct: no field may be
// unknown, doubled, null or in another case. The error is an *Invalid whose Path begins
// with the file's name.
func decodeJSON(file string, data []byte, to any) error {
	err := jsonstrict.DecodeVersion(data, to, Schema)
	var bad *jsonstrict.Error
	if errors.As(err, &bad) {
		return &Invalid{place(file, bad.Field), bad.What}
	}
	return err
}

func place(file, at string) string {
	if at == "" {
		return file
	}
	return file + ": " + at
}

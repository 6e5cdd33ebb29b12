package checkpoint

import (
	"errors"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// decodeManifest decodes and validates manifest.json. The error is an *Invalid.
func decodeManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := decodeJSON(manifestName, data, &m); err != nil {
		return Manifest{}, err
	}
	return m, m.validate()
}

// decodeJSON decodes a JSON file that this program wrote. Fields that are unknown, duplicated, null or in
// another case are errors. The error is an *Invalid, and its Path begins with the file's name.
func decodeJSON(file string, data []byte, to any) error {
	err := jsonstrict.DecodeVersion(data, to, Schema)
	var bad *jsonstrict.Error
	if errors.As(err, &bad) {
		return &Invalid{errorPath(file, bad.Field), bad.What}
	}
	return err
}

// errorPath returns the Path of an Invalid: a file and, if at is not empty, a field in it.
func errorPath(file, at string) string {
	if at == "" {
		return file
	}
	return file + ": " + at
}

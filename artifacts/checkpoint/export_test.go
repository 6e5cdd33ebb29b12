package checkpoint

import "io"

// DecodeManifest and EncodeManifest give tests the bytes of manifest.json.
var DecodeManifest = decodeManifest

// EncodeManifest is the inverse of DecodeManifest.
func EncodeManifest(m Manifest) ([]byte, error) { return encodeJSON(&m) }

// WriteWithin is Write with other limits on the archive and on all files.
func WriteWithin(f io.Writer, w Writing, packed, total int64) error {
	_, err := write(f, w, room{packed, total})
	return err
}

package checkpoint

import (
	"crypto/sha256"
	"io"
	"testing"
)

// HeaderFor returns the header that a holder of the key would make for a bundle.
func HeaderFor(t *testing.T, key string, generation int, bundle []byte) []byte {
	t.Helper()
	keys, err := ParseKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	sum := &sum{Hash: sha256.New()}
	if _, err := sum.Write(bundle); err != nil {
		t.Fatal(err)
	}
	h := header{Schema: Schema, Generation: generation, Key: keys.Fingerprint(), Size: sum.n, SHA256: sum.hex()}
	data, err := h.sign(keys.all[0])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// DecodeManifest and EncodeManifest give tests the bytes of manifest.json.
var DecodeManifest = decodeManifest

// EncodeManifest is the inverse of DecodeManifest.
func EncodeManifest(m Manifest) ([]byte, error) { return encodeJSON(&m) }

// WriteWithin is Write with other limits on the archive and on all files.
func WriteWithin(f io.Writer, w Writing, packed, total int64) error {
	_, err := write(f, w, room{packed, total})
	return err
}

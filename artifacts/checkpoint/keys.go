package checkpoint

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
)

// Purposes for which keys are derived from an identity. Each purpose gives a different key.
const (
	forHeader      = "raymond-action header v1"
	forFingerprint = "raymond-action fingerprint v1"
)

// Keys are age identities. The first one encrypts and signs. Each of them can decrypt and verify a
// checkpoint. To rotate keys, insert a new key before the others.
type Keys struct{ all []*age.X25519Identity }

// ParseKeys parses keys in the format of an age key file: one AGE-SECRET-KEY-1… per line. Empty lines and
// lines that begin with # are ignored. An error names the number of the line and never quotes the line.
func ParseKeys(text string) (*Keys, error) {
	k := &Keys{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, err := age.ParseX25519Identity(line)
		if err != nil {
			// The library's error may quote the line.
			return nil, fmt.Errorf("line %d of the key is not an age identity; it must begin with AGE-SECRET-KEY-1", n)
		}
		k.all = append(k.all, id)
	}
	if len(k.all) == 0 {
		return nil, errors.New("the key is empty: expected a line that begins with AGE-SECRET-KEY-1")
	}
	return k, nil
}

// NewKey generates a key and returns its text, which has one line.
func NewKey() (string, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", fmt.Errorf("make key: %w", err)
	}
	return id.String(), nil
}

// Values returns the secret text of each key, so that the caller can mask it in output.
func (k *Keys) Values() []string {
	var texts []string
	for _, id := range k.all {
		texts = append(texts, id.String())
	}
	return texts
}

// String implements fmt.Stringer. It shows only the number of keys.
func (k *Keys) String() string { return fmt.Sprintf("%d keys", len(k.all)) }

// GoString implements fmt.GoStringer. It shows only the number of keys.
func (k *Keys) GoString() string { return k.String() }

// fingerprint returns the name of a key in the readable header. It can't be computed from the recipient, so
// the header doesn't reveal which of several known recipients the checkpoint is for.
func fingerprint(id *age.X25519Identity) string {
	return hex.EncodeToString(derive(id, forFingerprint)[:8])
}

// derive returns a 32-byte key that is derived from an identity for one purpose.
func derive(id *age.X25519Identity, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, []byte(id.String()), nil, purpose, 32)
	if err != nil {
		panic("internal error: " + err.Error()) // possible only for a length of more than 8160 bytes
	}
	return key
}

package checkpoint

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
)

// Purposes of the keys that are derived from an identity.
const (
	forHeader      = "raymond-action header v1"
	forFingerprint = "raymond-action fingerprint v1"
)

// Keys are age identities. The first one encrypts and signs, and each of them can open a checkpoint. To
// rotate keys, put a new one in front.
type Keys struct{ all []*age.X25519Identity }

// ParseKeys parses keys in the format of an age key file: one AGE-SECRET-KEY-1… per line. It ignores
// blank lines and lines that begin with #. Its error names the line number and never shows the line.
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

// NewKey generates a key and returns it as one line of text.
func NewKey() (string, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", fmt.Errorf("make key: %w", err)
	}
	return id.String(), nil
}

// Values returns the secret text of each key, so that the caller can mask it.
func (k *Keys) Values() []string {
	var texts []string
	for _, id := range k.all {
		texts = append(texts, id.String())
	}
	return texts
}

// String implements fmt.Stringer and shows no secret.
func (k *Keys) String() string { return fmt.Sprintf("%d keys", len(k.all)) }

// GoString implements fmt.GoStringer and shows no secret.
func (k *Keys) GoString() string { return k.String() }

func (k *Keys) find(name string) (*age.X25519Identity, bool) {
	for _, id := range k.all {
		if fingerprint(id) == name {
			return id, true
		}
	}
	return nil, false
}

// fingerprint identifies a key in the readable header. It can't be computed from the recipient, so the
// header doesn't reveal which of several known recipients it is.
func fingerprint(id *age.X25519Identity) string {
	return hex.EncodeToString(derive(id, forFingerprint)[:8])
}

// derive returns a 32-byte key for one purpose.
func derive(id *age.X25519Identity, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, []byte(id.String()), nil, purpose, 32)
	if err != nil {
		panic("internal error: " + err.Error()) // only if the length is more than 8160
	}
	return key
}

// sign returns the MAC of data in hex.
func sign(id *age.X25519Identity, purpose string, data []byte) string {
	mac := hmac.New(sha256.New, derive(id, purpose))
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil))
}

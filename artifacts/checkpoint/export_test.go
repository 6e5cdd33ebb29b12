package checkpoint

import "io"

// DecodeManifest exports decodeManifest.
var DecodeManifest = decodeManifest

// WriteWithin is like Write with other limits. packed limits the archive, and total limits all files
// together.
func WriteWithin(f io.Writer, w WriteRequest, packed, total int64) error {
	_, err := write(f, w, packed, total)
	return err
}

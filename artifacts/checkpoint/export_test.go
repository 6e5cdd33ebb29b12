package checkpoint

import "io"

// DecodeManifest reads manifest.json.
var DecodeManifest = decodeManifest

// WriteWithin is Write with other limits on the archive and on all files.
func WriteWithin(f io.Writer, w WriteRequest, packed, total int64) error {
	_, err := write(f, w, room{packed, total})
	return err
}

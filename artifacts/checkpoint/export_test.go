package checkpoint

import "io"

// DecodeManifest exports decodeManifest.
var DecodeManifest = decodeManifest

// WriteWithin is Write with other limits for the archive and for all files.
func WriteWithin(f io.Writer, w WriteRequest, packed, total int64) error {
	_, err := write(f, w, sizeLimits{packed, total})
	return err
}

package workspace

import "time"

// Settled sets how long files must have been left alone before their times are
// trusted.
func (g *Git) Settled(d time.Duration) { g.settled = d }

// Decode reads an index as Trees and Restore do.
func Decode(data []byte) error {
	_, err := decodeIndex(data)
	return err
}

// The checks that come before git's own, which would catch the same.
var (
	IsBelow     = isBelow
	IsPlainPath = isPlainPath
)

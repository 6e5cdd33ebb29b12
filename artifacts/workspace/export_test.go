package workspace

import "time"

// Unreliable sets how long after a change the times of a file are considered unreliable.
func (g *Git) Unreliable(d time.Duration) { g.unreliable = d }

// Decode decodes and validates an index in the same way as Trees and Restore.
func Decode(data []byte) error {
	_, err := decodeIndex(data)
	return err
}

// These functions are exported so that tests can call them directly. A test of Restore can't show that they
// work, because git would reject the same input later.
var (
	IsBelow     = isBelow
	IsPlainPath = isPlainPath
)

// Within sets the time limit of one git process.
func (g *Git) Within(d time.Duration) { g.within = d }

// Within returns the same snapshots with another limit for bundles of snapshots.
func (s *Snapshots) Within(limit int64) *Snapshots {
	g := &Git{Path: s.git.Path, Env: s.git.Env, Temp: s.git.Temp, IsUncaged: s.git.IsUncaged, Limit: limit}
	return g.OpenSnapshots(s.dir)
}

// WeighPack exports inflatedSize.
var WeighPack = inflatedSize

// Handed sets the maximum number of bytes that may be handed over.
func (g *Git) Handed(n int64) { g.handed = n }

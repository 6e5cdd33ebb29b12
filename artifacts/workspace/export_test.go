package workspace

import "time"

// Unreliable sets how long after a change the times of a file are not trusted.
func (g *Git) Unreliable(d time.Duration) { g.unreliable = d }

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

// Within sets how long one run of git may take.
func (g *Git) Within(d time.Duration) { g.within = d }

// Within are the same snapshots, packed within another limit.
func (s *Snapshots) Within(limit int64) *Snapshots {
	g := &Git{Path: s.git.Path, Env: s.git.Env, Temp: s.git.Temp, IsUncaged: s.git.IsUncaged, Limit: limit}
	return g.OpenSnapshots(s.dir)
}

// WeighPack is weighPack.
var WeighPack = weighPack

// Handed sets how many bytes may be handed over.
func (g *Git) Handed(n int64) { g.handed = n }

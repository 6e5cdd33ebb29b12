//go:build !linux || (!amd64 && !arm64)

package cage

import (
	"errors"
	"os"
	"runtime"
)

// Gaps returns one gap, because this system has no cage.
func Gaps(Policy) []Gap {
	return []Gap{{Text: "there is no cage on " + runtime.GOOS + "/" + runtime.GOARCH, IsMajor: true, IsWarning: true}}
}

// Entrance is never created, because this system has no cage.
type Entrance struct{}

// EntryProgram is empty, because Enter always fails on this system.
const EntryProgram = ""

// filters are unused on this system.
type filters struct{}

// makeFilters always fails.
func makeFilters(bool) (filters, error) { return filters{}, errNoCage }

var errNoCage = errors.New("there is no cage on this system")

// Enter always fails, because this system has no cage.
func (c *Cage) Enter(string, uint64) (*Entrance, error) { return nil, errNoCage }

// File returns nil.
func (e *Entrance) File() *os.File { return nil }

// Arguments returns argv unchanged.
func (e *Entrance) Arguments(argv []string) []string { return argv }

// Admit always fails.
func (e *Entrance) Admit() error { return errNoCage }

// Close does nothing.
func (e *Entrance) Close() {}

// Mark returns 0, because processes have no marks on this system.
func Mark(string) uint64 { return 0 }

// MarkOf returns 0, because processes have no marks on this system.
func MarkOf(int) uint64 { return 0 }

// IsMarkOf returns false, because processes have no marks on this system.
func IsMarkOf(uint64, string) bool { return false }

// Supervise always fails, because this system has no cage.
func (c *Cage) Supervise(Command) (int, error) { return -1, errNoCage }

// StartInside always fails, because this system has no cage.
func (c *Cage) StartInside(func() error) error { return errNoCage }

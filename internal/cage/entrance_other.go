//go:build !linux || (!amd64 && !arm64)

package cage

import (
	"errors"
	"os"
	"runtime"
)

// Gaps returns one gap: this system has no cage.
func Gaps(Policy) []Gap {
	return []Gap{{Text: "there is no cage on " + runtime.GOOS + "/" + runtime.GOARCH, IsMajor: true, IsWarning: true}}
}

// Entrance is unused, because this system has no cage.
type Entrance struct{}

// EntryProgram is empty: no program is started in place of the child's own.
const EntryProgram = ""

// filters are unused on this system.
type filters struct{}

func makeFilters(bool) (filters, error) { return filters{}, errNoCage }

var errNoCage = errors.New("there is no cage on this system")

// Enter always fails.
func (c *Cage) Enter(string, uint64) (*Entrance, error) { return nil, errNoCage }

// File returns nil.
func (e *Entrance) File() *os.File { return nil }

// Arguments returns argv.
func (e *Entrance) Arguments(argv []string) []string { return argv }

// Admit always fails.
func (e *Entrance) Admit() error { return errNoCage }

// Close does nothing.
func (e *Entrance) Close() {}

// Mark returns 0: processes have no marks on this system.
func Mark(string) uint64 { return 0 }

// MarkOf returns 0.
func MarkOf(int) uint64 { return 0 }

// IsMarkOf returns false.
func IsMarkOf(uint64, string) bool { return false }

// Supervise always fails.
func (c *Cage) Supervise(Command) (int, error) { return -1, errNoCage }

// StartInside always fails.
func (c *Cage) StartInside(func() error) error { return errNoCage }

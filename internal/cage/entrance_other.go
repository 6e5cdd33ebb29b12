//go:build !linux || (!amd64 && !arm64)

package cage

import (
	"errors"
	"os"
	"runtime"
)

// Gaps returns what this system can't hold of a policy: everything.
func Gaps(Policy) []Gap {
	return []Gap{{Text: "there is no cage on " + runtime.GOOS + "/" + runtime.GOARCH, IsMajor: true, IsWarning: true}}
}

// Entrance is the way of one child into a cage, which there is none of here.
type Entrance struct{}

// EntryProgram is what is started in place of a child's own program.
const EntryProgram = ""

// filters are no programs here.
type filters struct{}

func makeFilters(bool) (filters, error) { return filters{}, errNone }

var errNone = errors.New("there is no cage on this system")

// Enter fails.
func (c *Cage) Enter(string, uint64) (*Entrance, error) { return nil, errNone }

// File returns nothing.
func (e *Entrance) File() *os.File { return nil }

// Arguments returns what it is given.
func (e *Entrance) Arguments(argv []string) []string { return argv }

// Admit fails.
func (e *Entrance) Admit() error { return errNone }

// Close does nothing.
func (e *Entrance) Close() {}

// Mark is no number here.
func Mark(string) uint64 { return 0 }

// MarkOf knows no marks here.
func MarkOf(int) uint64 { return 0 }

// IsMarkOf reports that no mark is a run's.
func IsMarkOf(uint64, string) bool { return false }

// Supervise fails.
func (c *Cage) Supervise(Command) (int, error) { return -1, errNone }

// StartInside fails.
func (c *Cage) StartInside(func() error) error { return errNone }

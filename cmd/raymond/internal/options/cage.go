package options

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/cage/forward"
)

// What --cage may be.
const (
	CageOn      = "on"      // confined as far as the system can do it
	CageRequire = "require" // confined, or nothing is started
	CageOff     = "off"
)

// Cage says what agents, done_when commands and caged scripts are confined to.
type Cage struct {
	Mode     string   // one of the Cage constants
	Network  string   // what forward.Parse takes; "" for open
	Writable []string // folders that may be written too, as they were given
	Readable []string // files and folders that may be read too, as they were given
}

// IsOff reports whether nothing is confined.
func (c *Cage) IsOff() bool { return c.Mode == CageOff }

// AddCage defines the flags of the cage. They are never taken from a run that is
// resumed, whose file agents could have written.
func (o *Options) AddCage() {
	o.Add("cage", "MODE", "confine agents, done_when commands and scripts that are not trusted: on, require (fail where the system can't) or off (default off)", func(s string) error {
		o.Cage.Mode = s
		return OneOf(s, CageOn, CageRequire, CageOff)
	})
	o.Add("network", "LIST", "with a cage, what can be reached: open, none, or hosts such as *.example.com, example.com:8443, "+
		strings.Join(forward.Presets(), ", ")+" (default open)", func(s string) error {
		list, err := forward.Parse(s)
		if o.Cage.Network = s; list.IsOpen() {
			o.Cage.Network = ""
		}
		return err
	})
	o.Add("cage-write", "DIR", "with a cage, a further folder that may be written (repeatable)", func(s string) error {
		o.Cage.Writable = append(o.Cage.Writable, filepath.FromSlash(s))
		return isPath(s)
	})
	o.Add("cage-read", "PATH", "with a cage, a further file or folder that may be read (repeatable)", func(s string) error {
		o.Cage.Readable = append(o.Cage.Readable, filepath.FromSlash(s))
		return isPath(s)
	})
}

// isPath reports what can't be one.
func isPath(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("want a path")
	}
	return NotEmpty(s)
}

// checkCage reports flags that need a cage.
func (o *Options) checkCage() {
	if o.Cage.IsOff() && o.Cage.Network != "" {
		o.Reject(problem.Usage(o.Called("network"), "needs a cage", fmt.Sprintf("set %s to on or require", o.Called("cage"))))
	}
	for flag, paths := range map[string][]string{"cage-write": o.Cage.Writable, "cage-read": o.Cage.Readable} {
		if o.Cage.IsOff() && len(paths) > 0 {
			o.Reject(problem.Usage(o.Called(flag), "is of no use without a cage", fmt.Sprintf("set %s to on or require", o.Called("cage"))))
		}
	}
}

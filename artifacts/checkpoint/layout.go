package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
	"github.com/raymond-action/raymond-action/protocol"
)

// The files of the archive that are not the run's.
const (
	manifestName = "manifest.json"
	headerName   = "header.json"
	bundleName   = "bundle.age"
)

const transcripts = "transcripts/"

// HistoryName is the name that the history of a run has in a checkpoint.
const HistoryName = "state.history"

// The limits of a checkpoint, in bytes where nothing else is said.
const (
	maxPacked   = 512 << 20 // the archive itself
	maxEntries  = 2000      // files, with the manifest
	maxEntry    = 256 << 20
	maxState    = 64 << 20 // what package state reads
	maxTotal    = 1 << 30
	maxManifest = 4 << 20
	maxSmall    = 4 << 10 // headers
)

// CheckName says why a checkpoint can't hold a file of that name; nil when it
// can. It may hold state.json, state.history, events.jsonl, transcripts/{agent CLI}/{uuid}.jsonl,
// workspace/index.json, workspace/{name}.bundle and anything under logs/ whose
// name has at most 255 bytes of UTF-8 and neither backslashes, colons nor control
// characters.
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return errors.New("has a name that no file of a checkpoint has")
	}
	return archive.CheckEntryName(name)
}

var nameForm = pattern(`^(?:state\.json|state\.history|events\.jsonl|logs/.+|workspace/index\.json|workspace/[A-Za-z0-9][A-Za-z0-9._-]*\.bundle` +
	`|transcripts/(?:` + strings.Join(protocol.Backends(), "|") + `)/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl)$`)

// entryLimit is how large a file may be.
func entryLimit(name string) int64 {
	switch name {
	case "state.json":
		return maxState
	case manifestName:
		return maxManifest
	case headerName:
		return maxSmall
	case bundleName:
		return maxPacked
	}
	return maxEntry
}

// limits are those of an archive that holds the run's files and some others.
func limits(others ...string) archive.Limits {
	return archive.Limits{
		Entries: maxEntries, Entry: maxPacked, Total: maxTotal,
		Check: func(name string, size int64) error {
			if err := CheckName(name); err != nil && !slices.Contains(others, name) {
				return err
			}
			if size > entryLimit(name) {
				return fmt.Errorf("unpacks to more than %d bytes", entryLimit(name))
			}
			return nil
		},
	}
}

// isBundle reports whether a file is a git bundle: compressed, and broken by a
// change of any byte.
func isBundle(name string) bool {
	return strings.HasPrefix(name, "workspace/") && strings.HasSuffix(name, ".bundle")
}

package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
)

// Names of the files in the archive that are not files of the run.
const (
	manifestName = "manifest.json"
	headerName   = "header.json"
	bundleName   = "bundle.age"
)

const transcripts = "transcripts/"

// HistoryName is the name of the run's journal in a checkpoint.
const HistoryName = "state.history"

// Limits of a checkpoint, in bytes unless stated otherwise.
const (
	maxPacked   = 512 << 20 // size of the archive
	maxEntries  = 2000      // number of files, including the manifest
	maxEntry    = 256 << 20
	maxState    = 64 << 20 // size of state.json, as limited by package state
	maxTotal    = 1 << 30
	maxManifest = 4 << 20
	maxSmall    = 4 << 10 // size of header.json
)

// CheckName returns an error if a checkpoint can't contain a file with that name. It allows state.json,
// state.history, events.jsonl, transcripts/{agent CLI}/{uuid}.jsonl, workspace/index.json,
// workspace/{name}.bundle, and all names below logs/. A name must have at most 255 bytes of UTF-8, without
// backslashes, colons and control characters.
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return errors.New("has a name that is not allowed in a checkpoint")
	}
	return archive.CheckEntryName(name)
}

var nameForm = text.Regexp(`^(?:state\.json|state\.history|events\.jsonl|logs/.+|workspace/index\.json|workspace/[A-Za-z0-9][A-Za-z0-9._-]*\.bundle` +
	`|transcripts/(?:` + strings.Join(protocol.Backends(), "|") + `)/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl)$`)

// entryLimit returns the maximum size of a file with that name in a checkpoint, in bytes.
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

// limits returns the limits for an archive that may contain files of the run and the files named in others.
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

// isBundle reports whether a file is a git bundle. Bundles are compressed, and a single changed byte makes
// them useless.
func isBundle(name string) bool {
	return strings.HasPrefix(name, "workspace/") && strings.HasSuffix(name, ".bundle")
}

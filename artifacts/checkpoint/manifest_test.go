package checkpoint_test

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/protocol"
)

// whole, as old text, means that the whole manifest is replaced.
const whole = "whole"

// TestManifestIsStrict checks that manifests which this program never writes are rejected. Each replacement in a
// valid manifest must cause an error about the field named by at, with a text that contains what. Errors that apply
// to all JSON files are tested in package jsonstrict.
func TestManifestIsStrict(t *testing.T) {
	data, _ := write(t, writing(nil))
	good := string(entries(t, data)["manifest.json"])
	_, err := checkpoint.DecodeManifest([]byte(good))
	assert.NilError(t, err)
	for _, tt := range []struct{ old, new, at, what string }{
		{`"schema": 5`, `"schema": 6`, "schema", "is 6, want 5: another version"},
		{`"schema": 5,`, `"schema": 5, "more": 1,`, "more", "unknown"},
		{`"workflow_id": "x-yml-main-0123abcd"`, `"workflow_id": "../x"`, "workflow_id", "not a workflow id"},
		{`"generation": 7`, `"generation": 0`, "generation", "at least 1"},
		{`"number": 3`, `"number": 3, "kind": "discussion"`, "kind", "unknown"},
		{`"status": "suspended"`, `"status": "asleep"`, "status", "unknown"},
		{`"workspace": "/home`, `"workspace": "home`, "places.workspace", "absolute"},
		{`"temp": "/home`, `"temp": "C:home`, "places.temp", "absolute"},
		{`"session": "0f8`, `"session": "0F8`, "transcripts[0].session", "UUID"},
		{`"backend": "codex"`, `"backend": "other"`, "transcripts[0].backend", "not an agent CLI"},
		{`"cli_id": "019`, `"cli_id": "../019`, "transcripts[0].cli_id", "not a session id"},
		{`"dir": "/home`, `"dir": "./home`, "transcripts[0].dir", "absolute"},
		{`"what": "workspace"`, `"what": "state"`, "left_out[0].what", "unknown"},
		{`"why": "key"`, `"why": "whim"`, "left_out[0].why", "unknown"},
		{`"created": "2026-05-04T03:02:01.005Z"`, `"created": "0001-01-01T00:00:00Z"`, "created", "missing"},
		{`"name": "logs/main/A.sh.log"`, `"name": "logs/../x"`, "files[1].name", ""},
		{`"name": "logs/main/A.sh.log"`, `"name": "events.jsonl"`, "files[1].name", "twice"},
		{`"size": 13`, `"size": -13`, "files[2].size", "want 0"},
		{`"size": 13`, `"size": 67108865`, "files[2].size", "want 0 to 67108864"},
		{`"sha256": "`, `"sha256": "A`, "files[0].sha256", "not a SHA-256"},
		{whole, "", "", "empty"},
		{whole, "{}", "schema", "missing"},
	} {
		if tt.old == whole {
			tt.old = good
		}
		assert.Assert(t, is.Contains(good, tt.old), "the manifest")
		_, err := checkpoint.DecodeManifest([]byte(strings.Replace(good, tt.old, tt.new, 1)))
		want := strings.TrimSuffix("manifest.json: "+tt.at, ": ")
		var invalid *checkpoint.Invalid
		if !errors.As(err, &invalid) || invalid.Path != want || !strings.Contains(invalid.What, tt.what) {
			t.Errorf("%s for %s: got %+v, want %s: …%s…", tt.new, tt.old, err, want, tt.what)
		}
	}
}

// TestTranscriptsMatchFiles checks that each transcript in the manifest must have a file, and that each
// transcript file must be listed as a transcript.
func TestTranscriptsMatchFiles(t *testing.T) {
	one := writing(nil).Manifest.Transcripts[0]
	for want, list := range map[string][]checkpoint.Transcript{
		"is not among the transcripts": nil,
		"is not among the files":       {one, {Session: other, Backend: protocol.BackendClaude, Dir: "/x"}},
		"listed twice":                 {one, one},
	} {
		w := writing(nil)
		w.Manifest.Transcripts = list
		if _, _, err := tryWrite(w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

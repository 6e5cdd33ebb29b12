// Package shim holds what the runner starts for the action: plain JavaScript
// that finds the Go program and becomes it. No Go program imports it; its tests
// run the files in node.
//
// The program is RAYMOND_BINARY, where no earlier step can have set it: under
// act and on self-hosted runners. Else it is bin/raymond-{os}-{arch}, which
// release tags carry. Else it is built with the go command from the action's own
// sources, into a new folder below RUNNER_TEMP at each start, main and post
// alike: Go's build cache makes the second build short, and the runner empties
// the folder after the job. The build gets none of the job's secrets.
package shim

import "embed"

// Files holds the JavaScript, at the top: main.js, post.js and what they share.
//
//go:embed *.js package.json
var Files embed.FS

// Package shim holds what the runner starts for the action: plain JavaScript
// that finds the Go program and becomes it. No Go program imports it; its tests
// run the files in node.
//
// The program is RAYMOND_BINARY, where no earlier step can have set it: under
// act and on self-hosted runners. Else it is bin/raymond-{os}-{arch}, which
// release tags carry. Else it is built with the go command from the action's own
// sources, once a job, below $RUNNER_TEMP/raymond-build, which agents can't see,
// with caches of its own there and none of the job's secrets.
//
// The main part tells the post part, by way of the runner, which program that was
// and what was in it, under a seal that only steps of the job can make. The post
// part looks nothing up and builds nothing: it becomes that program, or fails.
package shim

import "embed"

// Files holds the JavaScript, at the top: main.js, post.js and what they share.
//
//go:embed *.js package.json
var Files embed.FS

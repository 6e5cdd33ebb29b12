// Package shim contains the entry point that the runner starts for the action: JavaScript that finds the Go program and
// replaces itself by it. No Go program imports this package; its tests run the files in node.
//
// The program is RAYMOND_BINARY, but only under act and on self-hosted runners, where no earlier step can
// have set it. Otherwise it is bin/raymond-{os}-{arch}, which release tags contain. If that is missing, the
// go command builds it from the action's own sources, once per job, below $RUNNER_TEMP/raymond-build, which
// agents can't see, with separate caches there and without secrets of the job.
//
// Through the runner, the main phase passes the path and the digest of the program to the post phase, with a
// signature that only steps of the job can make. The post phase searches and builds nothing: it becomes that
// program, or fails.
package shim

import "embed"

// Files contains the JavaScript at its top level: main.js, post.js and their common code.
//
//go:embed *.js package.json
var Files embed.FS

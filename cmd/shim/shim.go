// Package shim contains the JavaScript that the runner starts for the action. It finds the Go program and
// replaces itself with it. No Go program imports this package; its tests run the files with node.
//
// The program is RAYMOND_BINARY, but only under act and on self-hosted runners, where no earlier step can
// have set that variable. Elsewhere it is bin/raymond-{os}-{arch}, which release tags contain. If that
// file is missing, the go command builds the program from the action's own sources, once per job, below
// $RUNNER_TEMP/raymond-build. The build uses separate caches in that directory, and gets none of the
// job's secrets. Agents can't see the directory.
//
// The main phase passes the path and the digest of the program to the post phase, with a signature that
// only steps of the job can make. The post phase doesn't search or build: it becomes the program that the
// main phase has used, or fails.
package shim

import "embed"

// Files contains main.js, post.js, the code that both use, and package.json.
//
//go:embed *.js package.json
var Files embed.FS

// Package runnertest has tests of the Action under a runner: workflow files that act
// runs, with the built program, its shim and its post part.
package runnertest

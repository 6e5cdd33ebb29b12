// Package e2e tests what only a process can show: kills and signals, leftovers of a process, locks between
// two processes, a terminal, a full disk. Promises that a function can show are tested in the package of that
// function.
//
// The tag world adds conformance tests of the real agent CLI of each vendor, against a scripted API on
// loopback:
//
//	go test -tags world ./cmd/raymond/internal/e2e -run Conformance/codex
package e2e

// Package e2e tests properties of raymond that can only be tested with real processes: kills and signals,
// leftover processes and files, locks between two processes, a terminal, a full disk. Everything else is tested
// in the package that implements it.
//
// The build tag world adds conformance tests. They run each vendor's real agent CLI with a scripted API on
// loopback:
//
//	go test -tags world ./cmd/raymond/internal/e2e -run Conformance/codex
package e2e

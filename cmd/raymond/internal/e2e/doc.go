// Package e2e has the tests that must start the program as a process: kills and signals,
// what a process leaves behind, locks between two of them, a terminal, a full disk. Whatever
// a function can show is shown in the package of that function.
//
// With -tags world the contract with each agent CLI is held too: the real one of each vendor, against a scripted API on
// loopback.
//
//	go test -tags world ./cmd/raymond/internal/e2e -run Conformance/codex
package e2e

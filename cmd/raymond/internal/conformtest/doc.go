// Package conformtest holds the whole program to one and the same behaviour with every agent
// CLI: the real one of each vendor against a scripted API on loopback. It is the one place where
// the contract with a CLI is tested, and tests only.
//
//	go test -tags world ./cmd/raymond/internal/conformtest -run Conformance/codex
package conformtest

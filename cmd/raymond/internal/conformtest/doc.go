// Package conformtest holds the whole program to one and the same behaviour with every agent
// CLI: the real one of each vendor against a scripted API on loopback. It is tests only.
//
//	go test ./cmd/raymond/internal/conformtest -run Conformance/codex
package conformtest

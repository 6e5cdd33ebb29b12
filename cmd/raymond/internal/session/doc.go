// Package session is one run with everything that it needs: its scope, its folders,
// its reporters and what drives it.
package session

//go:build race

package sitetest

// racing builds raymond with the race detector, since the tests run with it.
var racing = []string{"-race"}

//go:build !race

package sitetest

// racing is empty, since the tests run without the race detector.
var racing []string

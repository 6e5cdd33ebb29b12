//go:build !race

package sitetest

// racing is empty: the tests don't look for races.
var racing []string

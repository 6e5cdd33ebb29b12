//go:build race

package sitetest

// racing gives the program the race detector that its tests have.
var racing = []string{"-race"}

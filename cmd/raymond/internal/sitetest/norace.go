//go:build !race

package sitetest

// raceFlag makes the built program look for races when the tests do.
var raceFlag []string

//go:build race

package main

// raceFlag makes the built program look for races when the tests do.
var raceFlag = []string{"-race"}

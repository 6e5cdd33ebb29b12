//go:build race

package sitetest

// Racing is Raymond with the race detector, which the tests have, too. It takes several
// times as long: it is for tests in which much happens at once.
var Racing = newProgram("raymond-race", mainPackage, "-race")

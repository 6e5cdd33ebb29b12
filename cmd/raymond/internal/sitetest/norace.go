//go:build !race

package sitetest

// Racing is Raymond: the tests don't look for races.
var Racing = Raymond

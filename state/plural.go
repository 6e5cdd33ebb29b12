package state

import (
	"fmt"
	"strings"
)

// Count returns n followed by the noun thing, which is in the plural unless n is 1: "1 state",
// "2 states", "3 retries", "4 processes".
func Count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ry"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(thing, "y"))
	case strings.HasSuffix(thing, "s"), strings.HasSuffix(thing, "ch"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

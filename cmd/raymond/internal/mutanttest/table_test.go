package main

import "testing"

// TestEachFunctionIsThere: a mutant of a function that has another name by now tries nothing.
func TestEachFunctionIsThere(t *testing.T) {
	t.Chdir("../../../..")
	for _, m := range mutants {
		if _, _, err := m.change(); err != nil {
			t.Error(err)
		}
	}
}

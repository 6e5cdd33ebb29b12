package simulate

import "github.com/raymond-action/raymond-action/state"

// Nowhere is a runner.Store that keeps nothing: a simulation is never resumed.
type Nowhere struct{}

// Append implements runner.Store.
func (Nowhere) Append(*state.Delta) error { return nil }

// Fold implements runner.Store.
func (Nowhere) Fold(*state.Run) error { return nil }

// Full implements runner.Store.
func (Nowhere) Full() bool { return false }

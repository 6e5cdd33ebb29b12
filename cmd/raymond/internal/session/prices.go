package session

import (
	"time"

	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// Prices returns the prices that hold for a run with these options.
func Prices(o state.Options) prices.Book { return prices.Book{Given: o.Prices, Now: time.Now()} }

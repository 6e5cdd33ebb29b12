package options

import (
	"bytes"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// maxPrices bounds --prices, in bytes.
const maxPrices = 1 << 20

// AddPrices defines the flag of a file of prices. A resume without it keeps those of the run.
func AddPrices(o *Options) {
	o.Add("prices", "FILE", "prices of models, which add to the list of raymond and replace it: for agents that tell tokens and no dollars", func(s string) error {
		data, err := files.ReadTarget(s, maxPrices)
		if err != nil {
			return err
		}
		given, err := prices.Read(bytes.NewReader(data))
		o.change(func(opt *state.Options) { opt.Prices = given })
		return err
	})
}

package program

import (
	"slices"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// AddProxyCause adds to a failure what only the key proxy knows. If the budget is exhausted, it returns
// another failure, which names the budget as the cause. If the API has said when it accepts the next request,
// it sets f.NotBefore. f and each account may be nil.
func AddProxyCause(f *runner.Failure, accounts ...*keyproxy.Account) *runner.Failure {
	switch {
	case f == nil:
	case f.Class != runner.Stopped && slices.ContainsFunc(accounts, (*keyproxy.Account).IsSpent):
		return &runner.Failure{Class: runner.OverBudget, Continue: true, Message: "the budget is exhausted: the key proxy forwards no more requests"}
	case f.Class == runner.Service && f.NotBefore.IsZero():
		for _, a := range accounts {
			if at := a.RetryAfter(); at.After(f.NotBefore) {
				f.NotBefore = at
			}
		}
	}
	return f
}

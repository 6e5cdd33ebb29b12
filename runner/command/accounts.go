package command

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// accounts are those of one invocation with the key proxy, one for each API that the proxy has
// a key for: which of them the program asks is its own matter.
type accounts []*keyproxy.Account

func (all accounts) close() {
	for _, a := range all {
		a.Close()
	}
}

// each joins what there is of each account.
func each[T any](all accounts, of func(*keyproxy.Account) []T) (list []T) {
	for _, a := range all {
		list = append(list, of(a)...)
	}
	return list
}

// env is what the program gets, behind something else, so that it asks through the proxy.
func (all accounts) env(before []string) []string {
	return each(all, func(a *keyproxy.Account) []string { return a.Env(before) })
}

// waited returns when a request of any of the accounts last waited.
func (all accounts) waited() time.Time {
	return slices.MaxFunc(append(each(all, func(a *keyproxy.Account) []time.Time { return []time.Time{a.LastWait()} }), time.Time{}), time.Time.Compare)
}

// used returns the tokens that were counted so far.
func (all accounts) used() []keyproxy.Sum { return each(all, (*keyproxy.Account).Used) }

// follow has seen told what was counted so far, whenever that has grown. The function that is
// returned ends it.
func (all accounts) follow(seen func([]state.Usage)) (end func()) {
	var ends []func()
	for _, a := range all {
		ends = append(ends, a.Watch(func([]state.Usage) { seen(keyproxy.UsageOf(all.used())) }))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

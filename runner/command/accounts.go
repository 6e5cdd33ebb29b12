package command

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// accounts are the key proxy accounts of one invocation. There is an account for each API for which the
// proxy has a key, because the program may call any of them.
type accounts []*keyproxy.Account

// close closes all accounts.
func (all accounts) close() {
	for _, a := range all {
		a.Close()
	}
}

// each calls of for each account and returns the elements of all results in one list.
func each[T any](all accounts, of func(*keyproxy.Account) []T) (list []T) {
	for _, a := range all {
		list = append(list, of(a)...)
	}
	return list
}

// env returns the variables that make the program use the proxy. They must come after the variables in
// before.
func (all accounts) env(before []string) []string {
	return each(all, func(a *keyproxy.Account) []string { return a.Env(before) })
}

// lastWait returns when a request of one of the accounts last waited. It returns the zero time if there
// are no accounts.
func (all accounts) lastWait() time.Time {
	return slices.MaxFunc(append(each(all, func(a *keyproxy.Account) []time.Time { return []time.Time{a.LastWait()} }), time.Time{}), time.Time.Compare)
}

// used returns the tokens that have been counted so far, by account and model.
func (all accounts) used() []keyproxy.Sum { return each(all, (*keyproxy.Account).Used) }

// watch calls seen with the counts of all accounts whenever a count changes. The returned function ends
// this.
func (all accounts) watch(seen func([]state.Usage)) (end func()) {
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

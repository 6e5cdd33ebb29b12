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

// each calls a function (of) for each account, and returns the elements of all its results in one list.
func each[T any](all accounts, of func(*keyproxy.Account) []T) (list []T) {
	for _, a := range all {
		list = append(list, of(a)...)
	}
	return list
}

// env returns the variables that make the program use the proxy. The caller must append them to before, the
// list of the program's other variables.
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

// watch calls the function seen with the counts of all accounts whenever a count changes. The returned
// function ends these calls.
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

package keyproxy

import (
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/state"
	"golang.org/x/sync/semaphore"
)

// Account is the access of one invocation of an agent CLI to its API, and counts the invocation's
// usage. Its requests have a path and a credential that no other invocation can guess, and go to one
// vendor. The methods of a nil Account do nothing; it belongs to an invocation that doesn't use the
// proxy.
type Account struct {
	proxy      *Proxy
	vendor     *vendor
	token      string         // part of its path
	credential string         // that its requests must show
	mark       string         // of the invocation
	changed    chan struct{}  // has one element if a message has begun or ended since Watch last read the counts
	pending    sync.WaitGroup // its pending requests
	room       *semaphore.Weighted
	life       context.Context
	end        context.CancelFunc // cancels life, and with it the pending requests

	isSpent  atomic.Bool  // a request was refused because the budget is exhausted
	waiting  atomic.Int32 // how many requests wait for memory or for the budget
	lastWait atomic.Int64 // when a request last stopped waiting, in nanoseconds since 1970
	counts   counts       // of its responses
}

// counts are the token counts of an account's responses.
type counts struct {
	mu         sync.Mutex                // guards the other fields, and the responses
	sums       Sums                      // of responses that have ended
	open       map[*countedBody]struct{} // responses that have not ended
	retryAfter time.Time                 // when the API accepts the next request; zero if it named no time
}

// Open opens an account for an invocation of an agent CLI, which SetAllowance identifies by its mark. The
// caller must close it. Open returns nil if the proxy has no key for the CLI, or is nil itself.
func (p *Proxy) Open(backend, mark string) *Account {
	if p == nil {
		return nil
	}
	v := p.vendor(backend)
	if v == nil {
		return nil
	}
	a := &Account{
		proxy: p, vendor: v, token: rand.Text(), credential: "raymond-" + rand.Text(), mark: mark,
		changed: make(chan struct{}, 1), room: semaphore.NewWeighted(maxBody),
	}
	a.counts.open = map[*countedBody]struct{}{}
	a.life, a.end = context.WithCancel(context.Background())
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	p.accounts.byToken[a.token] = a
	return a
}

// Access returns how the invocation reaches its API.
func (a *Account) Access() Access {
	return Access{
		URL:        "http://" + a.proxy.address + prefix + a.vendor.api.Backend() + "/" + a.token,
		Credential: a.credential, IsToken: a.vendor.credential.IsToken, IsDirect: a.vendor.isDirect,
		Environ: a.proxy.options.Environ,
	}
}

// Env returns the variables that make the agent CLI use the proxy; they must come after all others. The
// only secret among them is the account's own credential, and variables that could hold another
// credential are set to "". before are the variables that the CLI gets in addition to the proxy's
// environment: a cage may name another proxy there.
func (a *Account) Env(before []string) []string {
	if a == nil {
		return nil
	}
	return append(a.vendor.api.Env(a.Access()), noProxyVars(slices.Concat(a.proxy.options.Environ, before))...)
}

// Watch calls report with the counts so far whenever a message of the model begins or ends, until the
// function that it returns is called. That function waits for the last call of report. Several changes
// may be reported by one call. Only one goroutine may watch an account.
func (a *Account) Watch(report func([]state.Usage)) (end func()) {
	if a == nil {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-a.changed:
				report(UsageOf(a.Used()))
			case <-over:
				if len(a.changed) > 0 {
					report(UsageOf(a.Used()))
				}
				return
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// Metered returns, by model, the API's own counts so far, and the costs that are recorded for
// everything else. The invocation used at least that much, whatever its process reports.
func (a *Account) Metered() []state.Usage {
	var list []state.Usage
	for _, sum := range a.Used() {
		sum.Output = max(0, sum.Output-sum.Guess)
		list = append(list, sum.Usage)
	}
	return list
}

// Used returns the counts so far, in the order of the models' names.
func (a *Account) Used() []Sum {
	if a == nil {
		return nil
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	return a.counts.all()
}

// LastWait returns when a request last waited for its turn; the current time if one is waiting. The
// agent CLI can't do anything during that time.
func (a *Account) LastWait() time.Time {
	if a == nil {
		return time.Time{}
	}
	if a.waiting.Load() > 0 {
		return time.Now()
	}
	return time.Unix(0, a.lastWait.Load())
}

// IsSpent reports whether a request was refused because the budget is exhausted.
func (a *Account) IsSpent() bool { return a != nil && a.isSpent.Load() }

// all returns the counts so far. The caller holds mu.
func (c *counts) all() []Sum {
	return c.sums.With(func(yield func(*Message) bool) {
		for open := range c.open {
			if m := open.counter.Message(); m != nil && !yield(m) {
				return
			}
		}
	})
}

// closeGrace is how long Close waits for responses that have not ended. After that, they cost the
// amounts that were reserved for them.
const closeGrace = 2 * time.Second

// Close closes the account. New requests, and requests that wait for the budget, are refused. Close
// reads pending responses for a moment, so that they are counted. Further calls do nothing.
func (a *Account) Close() {
	if a != nil {
		a.closeAfter(closeGrace)
	}
}

func (a *Account) closeAfter(d time.Duration) {
	a.refuseRequests()
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.pending.Wait()
	}()
	for _, patience := range []time.Duration{d, closeGrace} { // the second wait is for a client that has stopped reading, which must not block the end forever
		select {
		case <-over:
		case <-time.After(patience):
		}
		a.end()
	}
}

// refuseRequests refuses all further requests.
func (a *Account) refuseRequests() {
	l := &a.proxy.accounts
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.byToken[a.token]; !open {
		return
	}
	delete(l.byToken, a.token)
	if slices.Contains(l.running, a.mark) {
		l.unpaidClosed[a] = struct{}{}
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(e *exchange) bool {
		if e.account == a {
			close(e.passes)
		}
		return e.account == a
	})
}

// accounts are the accounts of the running invocations, by token, and the budget that they share.
type accounts struct {
	mu           sync.Mutex // guards the other fields; locked before the mu of an account's counts
	byToken      map[string]*Account
	left         *state.USD            // of the budget; nil means no limit
	unpaidClosed map[*Account]struct{} // closed accounts whose costs have not been subtracted from left yet
	running      []string              // marks of the invocations whose costs have not been subtracted from left

	// The paid requests without a complete response, in the order in which they arrived.
	waiting, pending []*exchange
}

// unpaid returns the accounts whose costs have not been subtracted from the budget yet. The caller holds mu.
func (l *accounts) unpaid() []*Account {
	return slices.AppendSeq(slices.Collect(maps.Values(l.byToken)), maps.Keys(l.unpaidClosed))
}

// prefix is the beginning of an account's path. The name of the agent CLI follows.
const prefix = "/i/"

// findAccount finds the account of a request, removes the account's part from the request's path, and
// counts the request as pending. The caller must call leave when the response has been sent. a is nil
// for an unknown account.
func (p *Proxy) findAccount(r *http.Request) (a *Account, leave func()) {
	rest, ok := strings.CutPrefix(r.URL.Path, prefix)
	backend, rest, _ := strings.Cut(rest, "/")
	token, _, isBelow := strings.Cut(rest, "/")
	own := prefix + backend + "/" + token
	rawPath, isRaw := strings.CutPrefix(r.URL.RawPath, own)
	if !ok || !isBelow || !isRaw && r.URL.RawPath != "" { // the account's part of the path is escaped in another way
		return nil, nil
	}
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	if a = p.accounts.byToken[token]; a == nil || a.vendor.api.Backend() != backend {
		return nil, nil
	}
	r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, own), rawPath
	a.pending.Add(1) // under the lock, so before the account can be closed and waited for
	p.pending.Add(1)
	return a, func() {
		a.pending.Done()
		p.pending.Done()
	}
}

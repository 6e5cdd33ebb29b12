package keyproxy

import (
	"cmp"
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

// Account gives one invocation of an agent CLI access to its vendor's API, and counts the tokens that the
// invocation uses. The requests of an account have a path and a credential that no other invocation can
// guess. An invocation without the proxy has a nil Account. All exported methods except Access can be called
// on a nil Account. They then do nothing and return zero values.
type Account struct {
	proxy      *Proxy
	vendor     *vendor
	token      string // the last part of the account's path
	credential string // the credential that the account's requests must show
	mark       string // the mark of the invocation; see SetAllowance
	// changed has one element if a message has begun or ended since Watch last read the counts.
	changed chan struct{}
	pending sync.WaitGroup // counts requests without a complete response
	// room is the memory that bodies of the account's requests may use.
	room *semaphore.Weighted
	life context.Context
	// end cancels life, and with it the pending requests.
	end context.CancelFunc

	isSpent  atomic.Bool  // a request was rejected because the budget is exhausted
	waiting  atomic.Int32 // how many requests wait for memory or for the budget
	lastWait atomic.Int64 // the end of the last wait of more than a second, in nanoseconds since 1970
	counts   counts       // the token counts of the account's responses
}

// counts are the token counts of an account's responses.
type counts struct {
	mu         sync.Mutex                // guards the other fields, and the counters of the responses in open
	sums       Sums                      // the counts of completed responses
	open       map[*countedBody]struct{} // responses that have not been completed
	retryAfter time.Time                 // when the API accepts the next request; zero if unknown
}

// Open opens an account for an invocation of an agent CLI. The argument mark identifies the invocation in
// calls of SetAllowance. The caller must close the account. Open returns nil if p is nil or has no key for
// the CLI.
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

// Access returns the address and the credential with which the invocation reaches its API.
func (a *Account) Access() Access {
	return Access{
		URL:        "http://" + a.proxy.address + prefix + a.vendor.api.Backend() + "/" + a.token,
		Credential: a.credential, IsToken: a.vendor.credential.IsToken, IsDirect: a.vendor.isDirect,
		Environ: a.proxy.options.Environ,
	}
}

// Env returns the environment variables that make the agent CLI use the proxy. The caller must append
// them after all other variables. The only secret in them is the account's own credential. Variables
// that could contain another credential are set to "". The argument before lists variables that the CLI
// gets in addition to the proxy's environment: a cage may set another NO_PROXY there, which Env extends.
func (a *Account) Env(before []string) []string {
	if a == nil {
		return nil
	}
	// NO_PROXY keeps the CLI and its child processes from sending requests for the key proxy to a proxy of
	// the job. Some programs read NO_PROXY, others no_proxy. The value "*" stays unchanged, because not every
	// program understands it in a list.
	environ := slices.Concat(a.proxy.options.Environ, before)
	list := cmp.Or(variable(environ, "NO_PROXY"), variable(environ, "no_proxy"))
	if list != "*" && !slices.Contains(strings.Split(list, ","), loopback) {
		list = strings.TrimPrefix(list+","+loopback, ",")
	}
	return append(a.vendor.api.Env(a.Access()), "NO_PROXY="+list, "no_proxy="+list)
}

// Watch calls the function report with the counts so far whenever a message of the model begins or ends.
// Several changes may cause only one call. The returned function ends the watching, and returns after the
// last call of report. Only one goroutine may watch an account.
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

// Metered returns the API's own token counts so far, by model. It also includes the costs that are
// recorded for usage that the API did not count. The invocation used at least that much, even if its
// process reports less.
func (a *Account) Metered() []state.Usage {
	var list []state.Usage
	for _, sum := range a.Used() {
		sum.Output = max(0, sum.Output-sum.Guess)
		list = append(list, sum.Usage)
	}
	return list
}

// Used returns the counts so far, in the order of the models' names. It includes messages that have not
// ended.
func (a *Account) Used() []Sum {
	if a == nil {
		return nil
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	return a.counts.sums.With(func(yield func(*Message) bool) {
		for open := range a.counts.open {
			if m := open.counter.Message(); m != nil && !yield(m) {
				return
			}
		}
	})
}

// LastWait returns when one of the account's requests last waited for memory or for the budget. If a request
// is waiting now, LastWait returns the current time. It ignores earlier waits of at most one second. The
// agent CLI makes no progress while its request waits.
func (a *Account) LastWait() time.Time {
	if a == nil {
		return time.Time{}
	}
	if a.waiting.Load() > 0 {
		return time.Now()
	}
	return time.Unix(0, a.lastWait.Load())
}

// IsSpent reports whether a request was rejected because the budget is exhausted.
func (a *Account) IsSpent() bool { return a != nil && a.isSpent.Load() }

// closeGrace is how long Close waits for pending responses. A response that takes longer is aborted, and the
// usage that the API has not counted by then is recorded with its maximum cost.
const closeGrace = 2 * time.Second

// Close closes the account. From then on, the proxy rejects the account's new requests, and its requests that
// wait for the budget. Close reads pending responses for up to closeGrace, so that their tokens are counted.
// Calling Close again does nothing.
func (a *Account) Close() {
	if a != nil {
		a.closeAfter(closeGrace)
	}
}

// closeAfter closes the account. It aborts the requests that are still pending after d.
func (a *Account) closeAfter(d time.Duration) {
	a.refuseRequests()
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.pending.Wait()
	}()
	// The second wait gives aborted requests time to end. It is limited too, because a client that has
	// stopped reading must not block Close forever.
	for _, patience := range []time.Duration{d, closeGrace} {
		select {
		case <-over:
		case <-time.After(patience):
		}
		a.end()
	}
}

// refuseRequests makes the proxy reject all further requests of the account.
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

// accounts contains the accounts of the running invocations, by token, and the budget that they share.
type accounts struct {
	mu      sync.Mutex // guards the other fields; if a counts.mu is needed too, mu is locked first
	byToken map[string]*Account
	left    *state.USD // the part of the budget that is left; nil means no limit
	// unpaidClosed contains the closed accounts whose costs have not been subtracted from left yet.
	unpaidClosed map[*Account]struct{}
	// running lists the marks of the invocations whose costs have not been subtracted from left yet.
	running []string

	// waiting contains the paid requests that wait for the budget. pending contains the paid requests that
	// were forwarded and have no complete response yet. Both are in the order of arrival.
	waiting, pending []*exchange
}

// unpaid returns the accounts whose costs have not been subtracted from the budget yet. The caller must
// hold l.mu.
func (l *accounts) unpaid() []*Account {
	return slices.AppendSeq(slices.Collect(maps.Values(l.byToken)), maps.Keys(l.unpaidClosed))
}

// prefix is the beginning of each account's path. The name of the agent CLI and the token follow.
const prefix = "/i/"

// findAccount finds the account of a request, removes the account's prefix from the request's path, and
// counts the request as pending. The caller must call leave when the response has been sent. If no open
// account belongs to the path, both results are nil.
func (p *Proxy) findAccount(r *http.Request) (a *Account, leave func()) {
	rest, ok := strings.CutPrefix(r.URL.Path, prefix)
	backend, rest, _ := strings.Cut(rest, "/")
	token, _, isBelow := strings.Cut(rest, "/")
	own := prefix + backend + "/" + token
	rawPath, isRaw := strings.CutPrefix(r.URL.RawPath, own)
	// If the path is escaped, its escaped form must begin with the account's prefix too. Otherwise
	// the prefix could not be removed from both forms, and the request is treated as unknown.
	if !ok || !isBelow || !isRaw && r.URL.RawPath != "" {
		return nil, nil
	}
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	if a = p.accounts.byToken[token]; a == nil || a.vendor.api.Backend() != backend {
		return nil, nil
	}
	r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, own), rawPath
	// Close deletes the account under the same lock before it waits, so it waits for this request too.
	a.pending.Add(1)
	p.pending.Add(1)
	return a, func() {
		a.pending.Done()
		p.pending.Done()
	}
}

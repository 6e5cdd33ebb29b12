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

// Account is what one invocation of an agent CLI asks for through the proxy, and
// counts what it used of the model. The invocation's requests have a path and a
// credential of their own, which nobody can guess, and go to one vendor. A nil Account is that
// of an invocation that doesn't pass through the proxy: its methods do nothing.
type Account struct {
	proxy      *Proxy
	vendor     *vendor
	token      string         // in its path
	credential string         // that its requests have to show
	mark       string         // of the invocation
	news       chan struct{}  // holds one element when a message began or ended since it was looked at
	underway   sync.WaitGroup // its requests
	room       *semaphore.Weighted
	life       context.Context
	end        context.CancelFunc // ends life, and with it the requests under way

	isSpent atomic.Bool  // a request was refused because the budget is used up
	waiting atomic.Int32 // how many requests wait for room or for the budget
	waited  atomic.Int64 // when a request last stopped waiting, in nanoseconds since 1970
	counts  counts       // what its answers used
}

// counts are what the answers of an account used.
type counts struct {
	mu    sync.Mutex           // guards what follows, and the answers
	sums  Sums                 // of the answers that are over
	open  map[*answer]struct{} // the others
	pause time.Time            // until when the API asked not to be asked again; zero for never
}

// Open begins an account for an invocation of an agent CLI, which Allow knows by its mark.
// The caller must call its Close. It returns nil when the proxy has no key for that CLI, or
// is nil itself.
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
		news: make(chan struct{}, 1), room: semaphore.NewWeighted(maxBody),
	}
	a.counts.open = map[*answer]struct{}{}
	a.life, a.end = context.WithCancel(context.Background())
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	p.accounts.byToken[a.token] = a
	return a
}

// Access is how the invocation reaches its API.
func (a *Account) Access() Access {
	return Access{
		URL:        "http://" + a.proxy.address + prefix + a.vendor.api.Backend() + "/" + a.token,
		Credential: a.credential, IsToken: a.vendor.credential.IsToken, IsDirect: a.vendor.isDirect,
		Environ: a.proxy.options.Environ,
	}
}

// Env returns what the agent CLI gets in its environment, behind everything else, so that
// it uses the proxy. It has no secret but the account's own credential, and blanks the
// variables that might hold another. What it gets before this may lead it to another proxy
// than the environment of this one, as a cage does.
func (a *Account) Env(before []string) []string {
	if a == nil {
		return nil
	}
	return append(a.vendor.api.Env(a.Access()), bypass(slices.Concat(a.proxy.options.Environ, before))...)
}

// Watch has what was counted so far told whenever a message of the model begins or ends, until
// the function that it returns is called, which waits for the last telling. Several
// messages may be told at once. One goroutine follows an account.
func (a *Account) Watch(tell func([]state.Usage)) (end func()) {
	if a == nil {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-a.news:
				tell(UsageOf(a.Used()))
			case <-over:
				if len(a.news) > 0 {
					tell(UsageOf(a.Used()))
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

// Metered returns, by model, what the API itself has counted so far, and what is booked for the rest.
// The invocation used this much or more, whatever its process reports.
func (a *Account) Metered() []state.Usage {
	var list []state.Usage
	for _, sum := range a.Used() {
		sum.Output = max(0, sum.Output-sum.Guess)
		list = append(list, sum.Usage)
	}
	return list
}

// Used returns what was counted so far, in order of the models' names.
func (a *Account) Used() []Sum {
	if a == nil {
		return nil
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	return a.counts.counted()
}

// LastWait returns when a request last waited for its turn; now if a request is waiting.
// The agent CLI can't do anything in that time.
func (a *Account) LastWait() time.Time {
	if a == nil {
		return time.Time{}
	}
	if a.waiting.Load() > 0 {
		return time.Now()
	}
	return time.Unix(0, a.waited.Load())
}

// IsSpent reports whether a request was refused because the budget is used up.
func (a *Account) IsSpent() bool { return a != nil && a.isSpent.Load() }

// counted returns what was counted so far. The caller holds mu.
func (c *counts) counted() []Sum {
	return c.sums.With(func(yield func(*Message) bool) {
		for open := range c.open {
			if m := open.counter.Message(); m != nil && !yield(m) {
				return
			}
		}
	})
}

// lingering is how long the end of an invocation waits for the answers that are still under way.
// An answer that has not ended by then is booked as the amount that was reserved.
const lingering = 2 * time.Second

// Close ends the account. Requests on its path are refused from now on, and those that wait for the
// budget; the answers under way are read to their ends for a moment. Further calls do nothing.
func (a *Account) Close() {
	if a != nil {
		a.closeAfter(lingering)
	}
}

func (a *Account) closeAfter(d time.Duration) {
	a.shut()
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.underway.Wait()
	}()
	for _, patience := range []time.Duration{d, lingering} { // a client that has stopped reading would otherwise hold up the end for ever
		select {
		case <-over:
		case <-time.After(patience):
		}
		a.end()
	}
}

// shut lets no further request pass.
func (a *Account) shut() {
	l := &a.proxy.accounts
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.byToken[a.token]; !open {
		return
	}
	delete(l.byToken, a.token)
	if slices.Contains(l.running, a.mark) {
		l.unbooked[a] = struct{}{}
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(e *exchange) bool {
		if e.account == a {
			close(e.passes)
		}
		return e.account == a
	})
}

// accounts are those of the invocations under way, by token, and what they may use.
type accounts struct {
	mu       sync.Mutex // guards what follows; taken before that of an account's counts
	byToken  map[string]*Account
	left     *state.USD            // of the budget; nil: no limit
	unbooked map[*Account]struct{} // those that were closed, and are not in what is left of the budget
	running  []string              // marks of the invocations that are not

	// The requests of models that were not answered yet, in the order in which they came.
	waiting, underway []*exchange
}

// unpaid are the accounts that are not in what is left of the budget yet. The caller holds mu.
func (l *accounts) unpaid() []*Account {
	return slices.AppendSeq(slices.Collect(maps.Values(l.byToken)), maps.Keys(l.unbooked))
}

// prefix is what the path of an account begins with. The name of the agent CLI follows.
const prefix = "/i/"

// enter finds the account of a request, takes its path off the request's, and counts the request in. The caller must call
// the function that it returns when the request is answered.
func (p *Proxy) enter(r *http.Request) (a *Account, leave func()) {
	rest, ok := strings.CutPrefix(r.URL.Path, prefix)
	backend, rest, _ := strings.Cut(rest, "/")
	token, _, isBelow := strings.Cut(rest, "/")
	own := prefix + backend + "/" + token
	rawPath, isRaw := strings.CutPrefix(r.URL.RawPath, own)
	if !ok || !isBelow || !isRaw && r.URL.RawPath != "" { // the account's path is written in another way
		return nil, nil
	}
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	if a = p.accounts.byToken[token]; a == nil || a.vendor.api.Backend() != backend {
		return nil, nil
	}
	r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, own), rawPath
	a.underway.Add(1) // while the account is open, so that nobody waits for the others yet
	p.underway.Add(1)
	return a, func() {
		a.underway.Done()
		p.underway.Done()
	}
}

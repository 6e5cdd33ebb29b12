package keyproxy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// spentMessage is what an agent CLI is told when the budget is used up.
const spentMessage = "raymond: the budget of the run is used up"

// SetAllowance says what may still be spent, apart from what the invocations with these marks
// use; state.MostUSD is no limit. A request of a model is forwarded when what was spent, what
// the others under way may cost at most and what it may cost itself are within that. Else it
// waits, first come, first served, but for nobody when nothing else is under way: so the
// budget is exceeded by one request at most. Once the budget is used up requests are refused;
// answers that have begun go on to their end. It may be called at any time, and does not wait
// for anything.
func (p *Proxy) SetAllowance(left state.USD, running []string) {
	l := &p.accounts
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left = nil; left < state.MaxUSD {
		l.left = &left
	}
	l.running = running
	maps.DeleteFunc(l.unbooked, func(a *Account, _ struct{}) bool { return !slices.Contains(running, a.mark) })
	p.admit()
}

// price returns what a model costs, and false where nobody knows.
func (p *Proxy) price(model string) (state.Price, bool) {
	if p.options.Price == nil {
		return state.Price{}, false
	}
	return p.options.Price(model)
}

// checkPrice refuses a model of which nobody knows what it costs, where there is a budget.
func (a *Account) checkPrice(model string) error {
	l := &a.proxy.accounts
	l.mu.Lock()
	isLimited := l.left != nil
	l.mu.Unlock()
	if _, ok := a.proxy.price(model); model == "" || ok || !isLimited {
		return nil
	}
	return fmt.Errorf("the model %q has no price, and the run has a budget; the input prices gives it one", model)
}

// admit lets pass who may, in the order in which they came. The caller holds the accounts' mu.
func (p *Proxy) admit() {
	l := &p.accounts
	for len(l.waiting) > 0 {
		next := l.waiting[0]
		spent := p.spent()
		isSpent := l.left != nil && spent >= *l.left
		if !isSpent && !l.fits(spent, next) {
			return
		}
		l.waiting = l.waiting[1:]
		if !isSpent {
			l.underway = append(l.underway, next)
		}
		next.passes <- !isSpent
	}
}

// spent returns the cost of the finished answers of all running invocations. The caller holds the accounts' mu.
func (p *Proxy) spent() (usd state.USD) {
	for _, a := range p.accounts.unpaid() {
		a.counts.mu.Lock()
		for _, sum := range a.counts.sums { // a model without a known price adds nothing
			price, _ := p.price(sum.Model)
			usd = usd.Plus(price.Cost(sum.Usage))
		}
		a.counts.mu.Unlock()
	}
	return usd
}

// fits reports whether a request can be paid for beside those under way.
func (l *accounts) fits(spent state.USD, next *exchange) bool {
	if l.left == nil || len(l.underway) == 0 {
		return true
	}
	if next.request.isAlone() || l.underway[0].request.isAlone() {
		return false
	}
	sum := spent.Plus(next.price)
	for _, e := range l.underway {
		sum = sum.Plus(e.price)
	}
	return sum <= *l.left
}

// isAdmitted waits until a request of a model may pass. It returns false when the request was answered, or has nobody left
// who waits for it; else the caller must call leave at its end.
func (e *exchange) isAdmitted(ctx context.Context, w http.ResponseWriter, r *http.Request) bool {
	defer e.account.wait()()
	a, l := e.account, &e.account.proxy.accounts
	e.passes = make(chan bool, 1)
	l.mu.Lock()
	if l.byToken[a.token] == nil {
		close(e.passes)
	} else {
		l.waiting = append(l.waiting, e)
		a.proxy.admit()
	}
	l.mu.Unlock()
	select {
	case passes, isOpen := <-e.passes:
		switch {
		case passes:
			return true
		case isOpen:
			a.isSpent.Store(true)
			a.vendor.refuse(w, http.StatusBadRequest, spentMessage)
		default:
			a.vendor.refuse(w, http.StatusServiceUnavailable, "the invocation is over")
		}
	case <-ctx.Done():
		e.leave()
		a.proxy.unreadable(w, r, a.vendor, context.Cause(ctx))
	}
	return false
}

// leave takes a request out that is over, or has nobody left who waits for it.
func (e *exchange) leave() {
	p := e.account.proxy
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	isIt := func(other *exchange) bool { return other == e }
	p.accounts.waiting = slices.DeleteFunc(p.accounts.waiting, isIt)
	p.accounts.underway = slices.DeleteFunc(p.accounts.underway, isIt)
	p.admit()
}

const (
	perPicture   = 5_000  // tokens of a picture
	mostByItself = 32_000 // tokens of an answer that the request doesn't limit
)

// reserve returns what a request costs at most, unless it isAlone: its bytes are tokens of the input at the highest
// rate that may apply.
func (p *Proxy) reserve(r Request) state.USD {
	price, _ := p.price(r.Model)
	price.CacheWrite = max(price.Input, price.CacheWrite)
	u := state.Usage{CacheWrite: r.Size - r.PictureBytes + r.Pictures*perPicture, Output: r.output()}
	if r.CachesForHour {
		u.CacheHour = u.CacheWrite
	}
	return price.Cost(u).Plus(price.Surcharge(u)).Plus(r.fees())
}

// output returns how many tokens the answer to a request may have.
func (r Request) output() int64 { return cmp.Or(r.MaxOutput, mostByItself) }

// fees returns the most that the vendor charges for tools that it runs: ten cents a tool, as for ten searches.
func (r Request) fees() state.USD { return state.USD(len(r.VendorTools)) * state.Dollar / 10 }

// isAlone reports whether a request may cost more than was reserved for it. It then runs while no other request does,
// so that the budget is exceeded by one request at most.
func (r Request) isAlone() bool { return r.IsUnbounded || len(r.VendorTools) > 0 }

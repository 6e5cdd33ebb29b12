package keyproxy

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// spentMessage is what an agent CLI is told when the budget is used up.
const spentMessage = "raymond: the budget of the run is used up"

// Allow says what may still be spent, apart from what the invocations with these marks
// use; state.MostUSD is no limit. A request of a model is forwarded when what was spent, what
// the others under way may cost at most and what it may cost itself are within that. Else it
// waits, first come, first served, but for nobody when nothing else is under way: so the
// budget is exceeded by one request at most. Once the budget is used up requests are refused;
// answers that have begun go on to their end. It may be called at any time, and does not wait
// for anything.
func (p *Proxy) Allow(left state.USD, running []string) {
	l := &p.accounts
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left = nil; left < state.MostUSD {
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
	return fmt.Errorf("the model %q has no price, and the run has a budget", model)
}

// cost is what sums cost. What a model costs whose price is not known is not in it.
func (p *Proxy) cost(sums []Sum) (usd state.USD) {
	for _, sum := range sums {
		if price, ok := p.price(sum.Model); ok {
			usd = usd.Plus(price.Of(sum.Usage))
		}
	}
	return usd
}

// admit lets pass who may, in the order in which they came. The caller holds the accounts' mu.
func (p *Proxy) admit() {
	l := &p.accounts
	for len(l.waiting) > 0 {
		next := l.waiting[0]
		spent, settled := p.spent()
		isSpent := l.left != nil && spent >= *l.left
		if !isSpent && !l.fits(settled, next.price) {
			return
		}
		l.waiting = l.waiting[1:]
		if !isSpent {
			l.underway = append(l.underway, next)
		}
		next.passes <- !isSpent
	}
}

// spent is what the invocations under way have used by now, and what of that is of answers
// that are over. The caller holds the accounts' mu.
func (p *Proxy) spent() (all, settled state.USD) {
	for _, a := range p.accounts.unpaid() {
		a.counts.mu.Lock()
		all = all.Plus(p.cost(a.counts.counted()))
		settled = settled.Plus(p.cost(a.counts.sums.With(func(func(*Message) bool) {})))
		a.counts.mu.Unlock()
	}
	return all, settled
}

// fits reports whether a request can be paid for beside those under way.
func (l *accounts) fits(settled, most state.USD) bool {
	if l.left == nil || len(l.underway) == 0 {
		return true
	}
	sum := settled.Plus(most)
	for _, e := range l.underway {
		sum = sum.Plus(e.price)
	}
	return sum <= *l.left
}

// isAdmitted waits until a request of a model may pass. It returns false when the request was answered, or has nobody left
// who waits for it; else the caller must call leave at its end.
func (e *exchange) isAdmitted(w http.ResponseWriter, r *http.Request) bool {
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
	case <-r.Context().Done():
		e.leave()
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

// dearest is what a request costs at most that may use so much: the input may be written to the cache.
func (p *Proxy) dearest(r Request, most state.Usage) state.USD {
	price, _ := p.price(most.Model)
	plain := price.Of(most)
	most.Input, most.CacheWrite = 0, most.Input
	if r.IsHour {
		most.CacheHour = most.CacheWrite
	}
	most.Surcharge = price.Surcharge(most).Plus(fees(r))
	return max(plain, price.Of(most))
}

// fees are what the vendor asks at most for what it runs beside the tokens: ten searches of a cent.
func fees(r Request) state.USD { return state.USD(len(r.Uses)) * state.Dollar / 10 }

const (
	perPicture   = 2_000  // tokens of an image
	perToken     = 3      // bytes of a request that are a token at least
	mostByItself = 32_000 // tokens of an answer that the request doesn't limit
)

// counted is how many tokens the API has counted for the input of a request of so many bytes.
type counted struct{ tokens, size int64 }

// most is what a request may use: as much input as the account's last one of that model, and
// what is new in it.
func (a *Account) most(r Request) state.Usage {
	a.counts.mu.Lock()
	last := a.counts.last[r.Model]
	a.counts.mu.Unlock()
	u := state.Usage{Model: r.Model, Input: last.tokens + max(0, r.text()-last.size)/perToken + r.Pictures*perPicture, Output: r.Output}
	if u.Output == 0 {
		u.Output = mostByItself
	}
	price, _ := a.proxy.price(r.Model)
	u.Surcharge = price.Surcharge(u).Plus(fees(r))
	return u
}

// text is how much of a request is no image, in bytes.
func (r Request) text() int64 { return max(0, r.Size-r.Packed) }

package keyproxy

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// spentMessage is the error message that an agent CLI gets when the budget is exhausted.
const spentMessage = "raymond: the budget of the run is exhausted"

// SetAllowance sets how much may still be spent (left). running lists the marks of the invocations whose
// costs have not been subtracted from that amount yet. If left is state.MaxUSD, there is no limit.
//
// A paid request is forwarded if three costs together fit into the amount: the costs so far, the maximum
// costs of the pending requests, and its own maximum cost. Otherwise it waits. Requests are served in the
// order of their arrival. If no other request is pending, a request doesn't wait, so the budget is exceeded
// by at most one request. When the budget is exhausted, new requests are rejected, but responses that have
// begun continue. SetAllowance may be called at any time and doesn't block.
func (p *Proxy) SetAllowance(left state.USD, running []string) {
	l := &p.accounts
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left = nil; left < state.MaxUSD {
		l.left = &left
	}
	l.running = running
	maps.DeleteFunc(l.unpaidClosed, func(a *Account, _ struct{}) bool { return !slices.Contains(running, a.mark) })
	p.admitWaiting()
}

// price returns the price of a model. It returns false if the price is unknown.
func (p *Proxy) price(model string) (state.Price, bool) {
	if p.options.Price == nil {
		return state.Price{}, false
	}
	return p.options.Price(model)
}

// admitWaiting lets waiting requests pass, in the order of their arrival, until the budget doesn't suffice
// for the next one. If the budget is exhausted, it rejects them all. The caller must hold the accounts' mu.
func (p *Proxy) admitWaiting() {
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
			l.pending = append(l.pending, next)
		}
		next.passes <- !isSpent
	}
}

// spent returns the cost of the completed responses whose costs have not been subtracted from the budget
// yet. The caller must hold the accounts' mu.
func (p *Proxy) spent() (usd state.USD) {
	for _, a := range p.accounts.unpaid() {
		a.counts.mu.Lock()
		// The price of an unknown model is zero, so its tokens add nothing.
		for _, sum := range a.counts.sums {
			price, _ := p.price(sum.Model)
			usd = usd.Plus(price.Cost(sum.Usage))
		}
		a.counts.mu.Unlock()
	}
	return usd
}

// fits reports whether the budget suffices for a request in addition to the pending ones. spent is the
// cost so far.
func (l *accounts) fits(spent state.USD, next *exchange) bool {
	if l.left == nil || len(l.pending) == 0 {
		return true
	}
	if next.request.runsAlone() || l.pending[0].request.runsAlone() {
		return false
	}
	sum := spent.Plus(next.price)
	for _, e := range l.pending {
		sum = sum.Plus(e.price)
	}
	return sum <= *l.left
}

// waitForTurn waits until a paid request may pass. If it returns true, the caller must call release when
// the request has ended. If it returns false, an error response has been sent or the client has left.
func (e *exchange) waitForTurn(ctx context.Context, w http.ResponseWriter, r *http.Request) bool {
	defer e.account.startWait()()
	a, l := e.account, &e.account.proxy.accounts
	e.passes = make(chan bool, 1)
	l.mu.Lock()
	if l.byToken[a.token] == nil {
		close(e.passes)
	} else {
		l.waiting = append(l.waiting, e)
		a.proxy.admitWaiting()
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
			a.vendor.refuse(w, http.StatusServiceUnavailable, "the invocation has ended")
		}
	case <-ctx.Done():
		e.release()
		a.proxy.unreadable(w, r, a.vendor, context.Cause(ctx))
	}
	return false
}

// release removes an exchange from the waiting and pending requests, and lets the next requests pass.
func (e *exchange) release() {
	p := e.account.proxy
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	isIt := func(other *exchange) bool { return other == e }
	p.accounts.waiting = slices.DeleteFunc(p.accounts.waiting, isIt)
	p.accounts.pending = slices.DeleteFunc(p.accounts.pending, isIt)
	p.admitWaiting()
}

const (
	tokensPerPicture = 5_000  // assumed tokens of one picture
	defaultMaxOutput = 32_000 // assumed tokens of a response if the request sets no limit
)

// reserve returns the maximum cost of a request. It counts each byte outside of pictures as an input
// token, at the highest rate that may apply. Only requests that run alone may cost more; see runsAlone.
func (p *Proxy) reserve(r Request) state.USD {
	price, _ := p.price(r.Model)
	price.CacheWrite = max(price.Input, price.CacheWrite)
	u := state.Usage{CacheWrite: r.Size - r.PictureBytes + r.Pictures*tokensPerPicture, Output: r.output()}
	if r.CachesForHour {
		u.CacheHour = u.CacheWrite
	}
	return price.Cost(u).Plus(price.Surcharge(u)).Plus(r.fees())
}

// output returns the maximum number of tokens in the response to a request.
func (r Request) output() int64 { return cmp.Or(r.MaxOutput, defaultMaxOutput) }

// fees returns the maximum amount that the vendor charges for the tools that it runs. It assumes ten
// cents per tool, which pays for ten searches.
func (r Request) fees() state.USD { return state.USD(len(r.VendorTools)) * state.Dollar / 10 }

// runsAlone reports whether a request may cost more than the amount reserved for it. Such a request is
// forwarded only while no other request is pending, so that the budget is exceeded by at most one request.
func (r Request) runsAlone() bool { return r.IsUnbounded || len(r.VendorTools) > 0 }

package keyproxy

import (
	"context"
	"fmt"
	"net/http"

	"github.com/raymond-action/raymond-action/state"
)

// maxAtOnce is how many requests of a model an invocation may have under way under a
// budget; further ones wait. What these cost is known only when their answers begin, so
// that this many may pass after the budget is used up.
const maxAtOnce = 32

// spentMessage is what an agent CLI is told when the budget is used up.
const spentMessage = "raymond: the budget of the run is used up"

// Allow says what may still be spent, apart from what the invocations with these marks
// use; state.MostUSD is no limit. Once they have used it up, no further request of a
// model is forwarded; answers that have begun go on to their end. It may be called at
// any time, and does not wait for anything.
func (p *Proxy) Allow(left state.USD, running []string) {
	if left >= state.MostUSD {
		p.accounts.book(nil, running)
		return
	}
	p.accounts.book(&left, running)
}

// isLimited reports whether there is a budget.
func (p *Proxy) isLimited() bool {
	left, _ := p.accounts.budget()
	return left != nil
}

// isSpent reports whether what the invocations under way have used by now is all that
// was left. What a model costs whose price is not known is not in it.
func (p *Proxy) isSpent() bool {
	left, all := p.accounts.budget()
	if left == nil {
		return false
	}
	used := state.USD(0)
	for _, a := range all {
		for _, sum := range a.AtLeast() {
			if usd, ok := p.price(sum.Usage); ok {
				used = used.Plus(usd)
			}
		}
	}
	return used >= *left
}

// price returns what tokens cost, and false where nobody knows.
func (p *Proxy) price(u state.Usage) (state.USD, bool) {
	if p.options.Price == nil {
		return 0, false
	}
	return p.options.Price(u)
}

// mayAsk notes what a request of a model asks for, and reports whether its cost can be
// counted. It answers the request if not.
func (a *Account) mayAsk(w http.ResponseWriter, r *http.Request, e *exchange) bool {
	body, _ := r.GetBody()
	model, err := a.vendor.api.Model(r, body)
	if err == nil && model != "" && a.proxy.isLimited() {
		if _, ok := a.proxy.price(state.Usage{Model: model}); !ok {
			err = fmt.Errorf("the model %q has no price, and the run has a budget", model)
		}
	}
	if err != nil {
		a.vendor.refuse(w, http.StatusBadRequest, "raymond: "+err.Error())
	}
	e.request = Request{Model: model, Size: r.ContentLength}
	return err == nil
}

// enter lets a request of a model pass, and waits until it may. It reports false when
// the request was answered, or has nobody left who waits for it; else the caller must
// call leave at its end.
func (a *Account) enter(w http.ResponseWriter, r *http.Request) bool {
	select {
	case a.places <- struct{}{}:
	case <-r.Context().Done():
		return false
	}
	if !a.proxy.isSpent() {
		return true
	}
	a.leave()
	a.isSpent.Store(true)
	a.vendor.refuse(w, http.StatusBadRequest, spentMessage)
	return false
}

func (a *Account) leave() { <-a.places }

// outlive makes r one that goes on when its client leaves, as long as the account is
// open: who asks and leaves at once would have an answer begin that nobody counts. When
// the answer has begun, it ends with the first piece that can't be passed on.
func (a *Account) outlive(r *http.Request) *http.Request {
	return r.WithContext(both{Context: a.life, values: r.Context()})
}

// both is a context with the end of one and the values of another.
type both struct {
	context.Context
	values context.Context
}

func (b both) Value(key any) any { return b.values.Value(key) }

package keyproxy

import (
	"crypto/rand"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/runner/claude/tally"
)

// Account is what one invocation of the agent CLI asks for through the proxy, and
// counts what it used of the model. The invocation's requests have a path of their
// own, which nobody can guess.
type Account struct {
	proxy *Proxy
	token string
	opens time.Time     // when the account was opened
	began chan struct{} // holds one element when a message began since it was looked at

	mu    sync.Mutex           // guards what follows
	sums  tally.Sums           // of the answers that are over
	open  map[*answer]struct{} // the others
	blind bool                 // there was an answer that could not be read
}

// Open begins an account. The caller must call its Close.
func (p *Proxy) Open() *Account {
	a := &Account{proxy: p, token: rand.Text(), opens: time.Now(), began: make(chan struct{}, 1), open: map[*answer]struct{}{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accounts[a.token] = a
	return a
}

// Env returns what the agent CLI gets in its environment, behind what Proxy.Env
// returns.
func (a *Account) Env() []string {
	return []string{"ANTHROPIC_BASE_URL=http://" + a.proxy.address + prefix + a.token}
}

// Began is told when a message of the model begins. Several may be told at once.
func (a *Account) Began() <-chan struct{} { return a.began }

// Used returns what was counted so far, in order of the models' names; nothing when
// it could not be counted.
func (a *Account) Used() []tally.Sum {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.blind {
		return nil
	}
	return a.sums.With(func(yield func(*tally.Message) bool) {
		for open := range a.open {
			if open.message != nil && !yield(open.message) {
				return
			}
		}
	})
}

// Close ends the account: requests on its path are refused from now on.
func (a *Account) Close() {
	p := a.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.accounts, a.token)
}

// prefix is what the path of an account begins with.
const prefix = "/i/"

// ownPath is the path of an account in a text.
var ownPath = regexp.MustCompile(regexp.QuoteMeta(prefix) + `[A-Z2-7]{26}`)

// account finds the account of a request and takes its path off the request's.
func (p *Proxy) account(r *http.Request) *Account {
	token, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, prefix), "/")
	if !ok || !strings.HasPrefix(r.URL.Path, prefix) {
		return nil
	}
	p.mu.Lock()
	a := p.accounts[token]
	p.mu.Unlock()
	if a == nil {
		return nil
	}
	own := prefix + token
	r.URL.Path = strings.TrimPrefix(r.URL.Path, own)
	r.URL.RawPath, ok = strings.CutPrefix(r.URL.RawPath, own)
	if !ok && r.URL.RawPath != "" { // the account's path is written in another way
		return nil
	}
	return a
}

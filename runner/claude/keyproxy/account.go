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
	proxy  *Proxy
	token  string
	opened time.Time
	began  chan struct{} // holds one element when a message began since it was looked at

	mu    sync.Mutex           // guards what follows
	sums  tally.Sums           // of the answers that are over
	open  map[*answer]struct{} // the others
	blind bool                 // there was an answer that could not be read
}

// Open begins an account. The caller must call its Close.
func (p *Proxy) Open() *Account {
	a := &Account{proxy: p, token: rand.Text(), opened: time.Now(), began: make(chan struct{}, 1), open: map[*answer]struct{}{}}
	p.accounts.add(a)
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
func (a *Account) Close() { a.proxy.accounts.remove(a) }

// accounts are those of the invocations under way, by token. The zero value is
// ready for use.
type accounts struct {
	mu      sync.Mutex // guards byToken
	byToken map[string]*Account
}

func (l *accounts) add(a *Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byToken == nil {
		l.byToken = map[string]*Account{}
	}
	l.byToken[a.token] = a
}

func (l *accounts) remove(a *Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byToken, a.token)
}

// find returns the account of a token; nil when there is none.
func (l *accounts) find(token string) *Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byToken[token]
}

// prefix is what the path of an account begins with.
const prefix = "/i/"

// ownPath is the path of an account in a text.
var ownPath = regexp.MustCompile(regexp.QuoteMeta(prefix) + `[A-Z2-7]{26}`)

// of finds the account of a request and takes its path off the request's.
func (l *accounts) of(r *http.Request) *Account {
	token, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, prefix), "/")
	if !ok || !strings.HasPrefix(r.URL.Path, prefix) {
		return nil
	}
	a := l.find(token)
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

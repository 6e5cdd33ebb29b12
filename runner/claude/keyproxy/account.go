package keyproxy

import (
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"regexp"
	"slices"
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
	mark   string // of the invocation
	opened time.Time
	began  chan struct{} // holds one element when a message began since it was looked at
	places chan struct{} // holds one element for each request of a model that is under way
	life   context.Context
	end    context.CancelFunc // ends life, and with it the requests under way

	mu    sync.Mutex           // guards what follows
	sums  tally.Sums           // of the answers that are over
	open  map[*answer]struct{} // the others
	blind bool                 // there was an answer that could not be read
	spent bool                 // a request was refused because the budget is used up
}

// Open begins an account for an invocation, which Allow knows by its mark. The caller
// must call its Close.
func (p *Proxy) Open(mark string) *Account {
	a := &Account{
		proxy: p, token: rand.Text(), mark: mark, opened: time.Now(),
		began: make(chan struct{}, 1), places: make(chan struct{}, maxAtOnce), open: map[*answer]struct{}{},
	}
	a.life, a.end = context.WithCancel(context.Background())
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
	return a.counted()
}

// AtLeast returns what was counted so far, also when there were answers that could not
// be counted: the invocation used this much or more.
func (a *Account) AtLeast() []tally.Sum {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counted()
}

// IsSpent reports whether a request was refused because the budget is used up.
func (a *Account) IsSpent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// counted returns what was counted so far. The caller holds mu.
func (a *Account) counted() []tally.Sum {
	return a.sums.With(func(yield func(*tally.Message) bool) {
		for open := range a.open {
			if open.message != nil && !yield(open.message) {
				return
			}
		}
	})
}

// Close ends the account, with the requests under way: nobody is left who could use
// their answers. Requests on its path are refused from now on. Further calls do nothing.
func (a *Account) Close() {
	a.proxy.accounts.remove(a)
	a.end()
}

// accounts are those of the invocations under way, by token. The zero value is
// ready for use.
type accounts struct {
	mu       sync.Mutex // guards what follows
	byToken  map[string]*Account
	unbooked map[*Account]struct{} // those that were closed, and are not in what is left of the budget
	running  map[string]bool       // marks of the invocations that are not
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
	if _, open := l.byToken[a.token]; !open {
		return
	}
	delete(l.byToken, a.token)
	if l.running[a.mark] {
		l.unbooked[a] = struct{}{}
	}
}

// book learns which invocations are not in what is left of the budget yet.
func (l *accounts) book(running []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = map[string]bool{}
	for _, mark := range running {
		l.running[mark] = true
	}
	if l.unbooked == nil {
		l.unbooked = map[*Account]struct{}{}
	}
	maps.DeleteFunc(l.unbooked, func(a *Account, _ struct{}) bool { return !l.running[a.mark] })
}

// all returns the accounts that are not in what is left of the budget yet.
func (l *accounts) all() []*Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Values(l.byToken)), maps.Keys(l.unbooked))
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

package keyproxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// responseCost is the cost of each response in these tests.
const responseCost = state.Dollar

// responsePrice returns the price of the model in these tests. It returns false for all other models.
func responsePrice(model string) (state.Price, bool) {
	return state.Price{Input: responseCost.Float() * 1e6 / 1000}, model == "sonnet"
}

// startMetered starts a proxy, and an API whose responses each cost responseCost.
func startMetered(t *testing.T) (*Proxy, *seen) {
	t.Helper()
	upstream, got := api(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, startEvent("sonnet")+fmt.Sprintf(deltaEvent, 9)+stopEvent)
	})
	return start(t, Options{Vendors: vendors(upstream.URL), Price: responsePrice}), got
}

// askTimes sends n requests one after the other, and returns how often each status occurred.
func askTimes(t *testing.T, p *Proxy, a *Account, n int) map[int]int {
	t.Helper()
	got := map[int]int{}
	for range n {
		answer, _ := ask(t, p, forAccount(a))
		got[answer.StatusCode]++
	}
	return got
}

// TestSpentBudgetEndsRequests simulates an agent that sends 200 requests. It checks that no request of any
// invocation reaches the API after the budget is exhausted, until the budget is increased.
func TestSpentBudgetEndsRequests(t *testing.T) {
	p, got := startMetered(t)
	p.SetAllowance(10*responseCost, []string{"one", "two"})
	one, two := p.Open(toy, "one"), p.Open(toy, "two")
	assert.Assert(t, is.DeepEqual(askTimes(t, p, two, 4), map[int]int{200: 4}), "the second invocation")
	diff := cmp.Diff(map[int]int{200: 6, 400: 194}, askTimes(t, p, one, 200))
	assert.Check(t, diff == "" && len(got.all()) == 10, "200 requests: the API got %d in all, want 10 (-want +got):\n%s", len(got.all()), diff)
	answer, body := ask(t, p, forAccount(two))
	assert.Check(t, answer.StatusCode == 400 && strings.Contains(body, spentMessage) && one.IsSpent() && two.IsSpent(), "the other invocation: got %s %s, spent %v %v", answer.Status, body, one.IsSpent(), two.IsSpent())
	one.Close() // its costs still count against the budget until SetAllowance subtracts them
	assert.Check(t, is.Equal(askTimes(t, p, two, 1)[400], 1), "when the first has ended")
	// The costs of the first invocation are subtracted now, and the budget is one dollar larger.
	p.SetAllowance(5*responseCost, []string{"two"})
	assert.Check(t, is.DeepEqual(askTimes(t, p, two, 2), map[int]int{200: 1, 400: 1}), "with a dollar more")
	p.SetAllowance(state.MaxUSD, []string{"two"})
	assert.Check(t, is.DeepEqual(askTimes(t, p, two, 50), map[int]int{200: 50}), "without a budget")
}

// TestConcurrentRequestsKeepTheBudget simulates an agent that sends 30 requests at the same time and ends
// before the cost of any of them is known. It checks that the API receives only as many requests as the
// budget can pay for, and that their costs are recorded although the API never responds.
func TestConcurrentRequestsKeepTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		left state.USD
		paid int
		size int // size of the request in bytes
		more string
	}{
		"three fit":              {3 * responseCost, 3, 1000, ""},
		"none fits, and one may": {responseCost, 1, 12_000, ""},
		"each runs alone":        {90 * responseCost, 1, 1000, `,"unbounded":true`},
		"of tools, too":          {90 * responseCost, 1, 900, `,"uses":["web_search"]`},
	} {
		came := make(chan struct{}, 30)
		upstream, got := api(t, func(_ http.ResponseWriter, r *http.Request) {
			came <- struct{}{}
			<-r.Context().Done()
		})
		p := start(t, Options{Vendors: vendors(upstream.URL), Price: responsePrice, IsOpen: true, Tools: []string{"web_search"}})
		p.SetAllowance(c.left, []string{"one"})
		a := p.Open(toy, "one")
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				r := request(a, http.MethodPost, "/v1/messages", strings.NewReader(fmt.Sprintf("%-*s", c.size, `{"model":"sonnet"`+c.more+`}`)))
				if answer, err := plainClient.RoundTrip(r); err == nil {
					answer.Body.Close()
				}
			})
		}
		for range c.paid {
			<-came
		}
		until(func() bool {
			p.accounts.mu.Lock()
			defer p.accounts.mu.Unlock()
			return len(p.accounts.waiting) == 30-c.paid
		})
		a.closeAfter(0)
		all.Wait()
		most := max(responseCost, responseCost*state.USD(c.size)/1000) * state.USD(c.paid)
		diff := cmp.Diff([]Sum{{Usage: state.Usage{Model: "sonnet", Surcharge: most}, Reserved: most}}, a.Used())
		assert.Check(t, diff == "" && len(got.all()) == c.paid, "%s: the API got %d, want %d; what it costs at most (-want +got):\n%s", name, len(got.all()), c.paid, diff)
	}
}

// TestFirstComeFirstServed checks that a cheap request doesn't overtake an expensive request that waits for
// the budget. It also checks that a request whose client has left doesn't delay others.
func TestFirstComeFirstServed(t *testing.T) {
	p := start(t, Options{Vendors: vendors(""), Price: responsePrice})
	p.SetAllowance(10*responseCost, []string{"one"})
	a := p.Open(toy, "one")
	order, ends := make(chan string, 3), map[string]func(){}
	enter := func(name string, dollars int64, waiting int) {
		ctx, leave := context.WithCancel(t.Context())
		e, passed := &exchange{account: a, price: responseCost * state.USD(dollars)}, make(chan bool, 1)
		go func() {
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://x", nil)
			isIn := e.waitForTurn(ctx, httptest.NewRecorder(), r)
			if isIn {
				order <- name
			}
			passed <- isIn
		}()
		ends[name] = func() {
			leave()
			if <-passed {
				e.release()
			}
		}
		until(func() bool {
			p.accounts.mu.Lock()
			defer p.accounts.mu.Unlock()
			return len(p.accounts.waiting) == waiting && len(p.accounts.pending) == 1
		})
	}
	enter("first", 6, 0)
	enter("second", 6, 1)
	enter("leaves", 6, 2)
	enter("small", 5, 3)
	ends["leaves"]()
	for _, want := range []string{"first", "second", "small"} {
		assert.Check(t, is.Equal(<-order, want))
		ends[want]()
	}
}

// TestWaitIsBounded checks that a request waits for at most four minutes, and that this wait doesn't count
// as idle time of the agent CLI.
func TestWaitIsBounded(t *testing.T) {
	p := start(t, Options{Vendors: vendors("")})
	p.SetAllowance(responseCost, []string{"one"})
	a := p.Open(toy, "one")
	synctest.Test(t, func(t *testing.T) {
		p.accounts.pending = []*exchange{{account: a, price: responseCost}}
		ctx, cancel := context.WithTimeoutCause(t.Context(), maxWait, errBusy)
		defer cancel()
		go func() {
			time.Sleep(maxWait / 2)
			assert.Check(t, is.Equal(a.LastWait(), time.Now()), "in the middle")
		}()
		w, began := httptest.NewRecorder(), time.Now()
		isIn := (&exchange{account: a, price: responseCost}).waitForTurn(ctx, w, httptest.NewRequest(http.MethodPost, "/", nil))
		assert.Check(t, !isIn && w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "", "got %v, %d %q", isIn, w.Code, w.Header())
		time.Sleep(time.Minute)
		assert.Check(t, a.LastWait().Equal(began.Add(maxWait)) && len(p.accounts.waiting) == 0, "afterwards: got %s, want %s after %s", a.LastWait(), maxWait, began)
	})
}

// TestHigherPricesAreReserved checks the reserved and the counted cost of things with a higher price: cache
// entries for one hour, long prompts, and tools that the vendor runs.
func TestHigherPricesAreReserved(t *testing.T) {
	const answer = `{"type":"message","model":"sonnet","usage":{"input_tokens":%d,"output_tokens":1000,"cache_creation_input_tokens":2000,` +
		`"cache_creation":{"ephemeral_1h_input_tokens":1500,"ephemeral_5m_input_tokens":500},"server_tool_use":{"web_search_requests":2}}}`
	price := state.Price{Input: 1000, CacheWrite: 1250, Output: 2000, Long: state.Long{Over: 9000, Input: 2, Output: 1.5}}
	for input, want := range map[int]string{
		3000: "8.645",  // 3 + 2*1.25 + 1.5*0.75 + 2 + 0.02
		7001: "24.272", // 2*(7.001 + 2*1.25 + 1.5*0.75) + 1.5*2 + 0.02
	} {
		upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, answer, input)
		})
		p := start(t, Options{Vendors: vendors(upstream.URL), Price: func(string) (state.Price, bool) { return price, true }})
		a := p.Open(toy, "one")
		ask(t, p, forAccount(a))
		a.pending.Wait()
		assert.Check(t, is.Equal(p.spent().String(), want), "%d tokens, as counted", input)
	}
	p := start(t, Options{Vendors: vendors(""), Price: func(string) (state.Price, bool) { return price, true }})
	for want, r := range map[string]Request{
		"4.5":  {Size: 2000, MaxOutput: 1000},                                            // 2 * 1.25 + 2
		"6":    {Size: 2000, MaxOutput: 1000, CachesForHour: true},                       // 2 * 2 + 2
		"4.7":  {Size: 2000, MaxOutput: 1000, VendorTools: []string{"a", "b"}},           // the same, and two times ten cents
		"28":   {Size: 10_000, MaxOutput: 1000},                                          // 2 * 10 * 1.25 + 1.5 * 2
		"9.5":  {Size: 2_001_000, MaxOutput: 1000, Pictures: 1, PictureBytes: 2_000_000}, // (1 + 5) * 1.25 + 2
		"66.5": {Size: 2000},                                                             // 2 * 1.25 + 32 * 2
	} {
		assert.Check(t, is.Equal(p.reserve(r).String(), want), "%+v", r)
	}
}

// TestUnreadResponsesAreCounted simulates an agent that leaves directly after its request, and checks that
// the response is counted.
func TestUnreadResponsesAreCounted(t *testing.T) {
	whole := `{"type":"message","model":"sonnet","content":[{"text":"` + strings.Repeat("x", 1<<20) + `"}],"usage":{"input_tokens":1000,"output_tokens":9}}`
	for kind, body := range map[string]string{"text/event-stream": startEvent("sonnet") + fmt.Sprintf(deltaEvent, 9), "application/json": whole} {
		arrived, left := make(chan struct{}), make(chan struct{})
		upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			close(arrived)
			<-left
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, body)
		})
		requests := make(chan context.Context, 1)
		p := start(t, Options{Vendors: []Vendor{{API: watchedAPI{toyAPI{toy}, requests}, Upstream: upstream.URL, Credential: Credential{Text: realKey}}}, Price: responsePrice})
		a := p.Open(toy, "one")
		ctx, leave := context.WithCancel(t.Context())
		r := request(a, http.MethodPost, "/v1/messages", nil).WithContext(ctx)
		go func() {
			<-arrived
			leave()
		}()
		if answer, err := plainClient.RoundTrip(r); err == nil {
			answer.Body.Close()
			t.Fatalf("%s: the client got an answer, want it to have left", kind)
		}
		<-(<-requests).Done() // the proxy has noticed that the client has left
		close(left)
		until(func() bool {
			sums := a.Used()
			return len(sums) == 1 && sums[0].Input == 1000
		})
	}
}

// watchedAPI is a toyAPI that sends the context of each request to the test. The context ends when the client
// leaves.
type watchedAPI struct {
	toyAPI
	requests chan<- context.Context
}

func (w watchedAPI) Classify(r *http.Request) RequestClass {
	w.requests <- r.Context()
	return w.toyAPI.Classify(r)
}

// until returns when a condition is true.
func until(condition func() bool) {
	for !condition() {
		runtime.Gosched()
	}
}

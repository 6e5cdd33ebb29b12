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

// perAnswer is what each answer of these tests costs.
const perAnswer = state.Dollar

// byAnswer prices the answers of these tests; no other model has a price.
func byAnswer(model string) (state.Price, bool) {
	return state.Price{Input: perAnswer.Float() * 1e6 / 1000}, model == "sonnet"
}

// metered starts a proxy, under a budget, before an API each of whose answers costs the
// same.
func metered(t *testing.T) (*Proxy, *seen) {
	t.Helper()
	upstream, got := api(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, begins("sonnet")+fmt.Sprintf(countsTo, 9)+ends)
	})
	return start(t, Options{Vendors: vendors(upstream.URL), Price: byAnswer}), got
}

// askOften asks n times, one after the other, and returns how often which status came.
func askOften(t *testing.T, p *Proxy, a *Account, n int) map[int]int {
	t.Helper()
	got := map[int]int{}
	for range n {
		answer, _ := ask(t, p, of(a))
		got[answer.StatusCode]++
	}
	return got
}

// TestSpentBudgetEndsRequests is an agent that asks 200 times by itself: when what the
// run may still spend is used up, nothing more reaches the API, whoever of the run asks,
// until there is more.
func TestSpentBudgetEndsRequests(t *testing.T) {
	p, got := metered(t)
	p.SetAllowance(10*perAnswer, []string{"one", "two"})
	one, two := p.Open(toy, "one"), p.Open(toy, "two")
	assert.Assert(t, is.DeepEqual(askOften(t, p, two, 4), map[int]int{200: 4}), "the second invocation")
	diff := cmp.Diff(map[int]int{200: 6, 400: 194}, askOften(t, p, one, 200))
	assert.Check(t, diff == "" && len(got.all()) == 10, "200 requests: the API got %d in all, want 10 (-want +got):\n%s", len(got.all()), diff)
	answer, body := ask(t, p, of(two))
	assert.Check(t, answer.StatusCode == 400 && strings.Contains(body, spentMessage) && one.IsSpent() && two.IsSpent(), "the other invocation: got %s %s, spent %v %v", answer.Status, body, one.IsSpent(), two.IsSpent())
	one.Close() // and is not booked yet
	assert.Check(t, is.Equal(askOften(t, p, two, 1)[400], 1), "when the first has ended")
	p.SetAllowance(5*perAnswer, []string{"two"}) // the first is booked, and there is a dollar more
	assert.Check(t, is.DeepEqual(askOften(t, p, two, 2), map[int]int{200: 1, 400: 1}), "with a dollar more")
	p.SetAllowance(state.MaxUSD, []string{"two"})
	assert.Check(t, is.DeepEqual(askOften(t, p, two, 50), map[int]int{200: 50}), "without a budget")
}

// TestManyAtOnceAreHeldToTheBudget is an agent that asks 30 times at once and ends, before it is known what
// any of that costs: as many reach the API as can be paid, and what they cost is known though it never answers.
func TestManyAtOnceAreHeldToTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		left state.USD
		paid int
		size int // of the request, in bytes
		more string
	}{
		"three fit":              {3 * perAnswer, 3, 1000, ""},
		"none fits, and one may": {perAnswer, 1, 12_000, ""},
		"each runs alone":        {90 * perAnswer, 1, 1000, `,"unbounded":true`},
		"of tools, too":          {90 * perAnswer, 1, 900, `,"uses":["web_search"]`},
	} {
		came := make(chan struct{}, 30)
		upstream, got := api(t, func(_ http.ResponseWriter, r *http.Request) {
			came <- struct{}{}
			<-r.Context().Done()
		})
		p := start(t, Options{Vendors: vendors(upstream.URL), Price: byAnswer, IsOpen: true, Tools: []string{"web_search"}})
		p.SetAllowance(c.left, []string{"one"})
		a := p.Open(toy, "one")
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				r := request(a, http.MethodPost, "/v1/messages", strings.NewReader(fmt.Sprintf("%-*s", c.size, `{"model":"sonnet"`+c.more+`}`)))
				if answer, err := plain.RoundTrip(r); err == nil {
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
		most := max(perAnswer, perAnswer*state.USD(c.size)/1000) * state.USD(c.paid)
		diff := cmp.Diff([]Sum{{Usage: state.Usage{Model: "sonnet", Surcharge: most}, Reserved: most}}, a.Used())
		assert.Check(t, diff == "" && len(got.all()) == c.paid, "%s: the API got %d, want %d; what it costs at most (-want +got):\n%s", name, len(got.all()), c.paid, diff)
	}
}

// TestFirstComeFirstServed: who waits for the budget is not overtaken by whoever needs less, and who has left
// is not waited for.
func TestFirstComeFirstServed(t *testing.T) {
	p := start(t, Options{Vendors: vendors(""), Price: byAnswer})
	p.SetAllowance(10*perAnswer, []string{"one"})
	a := p.Open(toy, "one")
	order, ends := make(chan string, 3), map[string]func(){}
	enter := func(name string, dollars int64, waiting int) {
		ctx, leave := context.WithCancel(t.Context())
		e, passed := &exchange{account: a, price: perAnswer * state.USD(dollars)}, make(chan bool, 1)
		go func() {
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://x", nil)
			isIn := e.isAdmitted(ctx, httptest.NewRecorder(), r)
			if isIn {
				order <- name
			}
			passed <- isIn
		}()
		ends[name] = func() {
			leave()
			if <-passed {
				e.leave()
			}
		}
		until(func() bool {
			p.accounts.mu.Lock()
			defer p.accounts.mu.Unlock()
			return len(p.accounts.waiting) == waiting && len(p.accounts.underway) == 1
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

// TestAWaitEnds after four minutes, and is no silence of the agent CLI.
func TestAWaitEnds(t *testing.T) {
	p := start(t, Options{Vendors: vendors("")})
	p.SetAllowance(perAnswer, []string{"one"})
	a := p.Open(toy, "one")
	synctest.Test(t, func(t *testing.T) {
		p.accounts.underway = []*exchange{{account: a, price: perAnswer}}
		ctx, cancel := context.WithTimeoutCause(t.Context(), longestTurn, errBusy)
		defer cancel()
		go func() {
			time.Sleep(longestTurn / 2)
			assert.Check(t, is.Equal(a.LastWait(), time.Now()), "in the middle")
		}()
		w, began := httptest.NewRecorder(), time.Now()
		isIn := (&exchange{account: a, price: perAnswer}).isAdmitted(ctx, w, httptest.NewRequest(http.MethodPost, "/", nil))
		assert.Check(t, !isIn && w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "", "got %v, %d %q", isIn, w.Code, w.Header())
		time.Sleep(time.Minute)
		assert.Check(t, a.LastWait().Equal(began.Add(longestTurn)) && len(p.accounts.waiting) == 0, "afterwards: got %s, want %s after %s", a.LastWait(), longestTurn, began)
	})
}

// TestWhatIsDearerIsReserved and counted: what the cache keeps for an hour, long prompts, and what the vendor runs.
func TestWhatIsDearerIsReserved(t *testing.T) {
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
		ask(t, p, of(a))
		a.underway.Wait()
		assert.Check(t, is.Equal(p.spent().String(), want), "%d tokens, as counted", input)
	}
	p := start(t, Options{Vendors: vendors(""), Price: func(string) (state.Price, bool) { return price, true }})
	for want, r := range map[string]Request{
		"4.5":  {Size: 2000, MaxOutput: 1000},                                            // 2 * 1.25 + 2
		"6":    {Size: 2000, MaxOutput: 1000, CachesForHour: true},                       // 2 * 2 + 2
		"4.7":  {Size: 2000, MaxOutput: 1000, VendorTools: []string{"a", "b"}},           // and two times ten cents
		"28":   {Size: 10_000, MaxOutput: 1000},                                          // 2 * 10 * 1.25 + 1.5 * 2
		"9.5":  {Size: 2_001_000, MaxOutput: 1000, Pictures: 1, PictureBytes: 2_000_000}, // (1 + 5) * 1.25 + 2
		"66.5": {Size: 2000},                                                             // 2 * 1.25 + 32 * 2
	} {
		assert.Check(t, is.Equal(p.reserve(r).String(), want), "%+v", r)
	}
}

// TestAnswersThatNobodyReadsAreCounted is an agent that asks and leaves at once: what
// the API does for it is counted all the same.
func TestAnswersThatNobodyReadsAreCounted(t *testing.T) {
	whole := `{"type":"message","model":"sonnet","content":[{"text":"` + strings.Repeat("x", 1<<20) + `"}],"usage":{"input_tokens":1000,"output_tokens":9}}`
	for kind, body := range map[string]string{"text/event-stream": begins("sonnet") + fmt.Sprintf(countsTo, 9), "application/json": whole} {
		arrived, left := make(chan struct{}), make(chan struct{})
		upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			close(arrived)
			<-left
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, body)
		})
		asked := make(chan context.Context, 1)
		p := start(t, Options{Vendors: []Vendor{{API: watched{toyAPI{toy}, asked}, Upstream: upstream.URL, Credential: Credential{Text: realKey}}}, Price: byAnswer})
		a := p.Open(toy, "one")
		ctx, leave := context.WithCancel(t.Context())
		r := request(a, http.MethodPost, "/v1/messages", nil).WithContext(ctx)
		go func() {
			<-arrived
			leave()
		}()
		if answer, err := plain.RoundTrip(r); err == nil {
			answer.Body.Close()
			t.Fatalf("%s: the client got an answer, want it to have left", kind)
		}
		<-(<-asked).Done() // the proxy has seen that nobody is there
		close(left)
		until(func() bool {
			sums := a.Used()
			return len(sums) == 1 && sums[0].Input == 1000
		})
	}
}

// watched is an API that tells of each request how long its client waits for the answer.
type watched struct {
	toyAPI
	asked chan<- context.Context
}

func (w watched) Classify(r *http.Request) RequestClass {
	w.asked <- r.Context()
	return w.toyAPI.Classify(r)
}

// until waits until something is so.
func until(is func() bool) {
	for !is() {
		runtime.Gosched()
	}
}

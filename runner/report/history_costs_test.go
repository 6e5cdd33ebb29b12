package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// spender drives a run whose invocations cost something, bring answers, fail and
// are cut off, and tells a summary of it.
type spender struct {
	t   *testing.T
	rnd *rand.Rand
	run *state.Run
	now time.Time
	ids int
	to  Reporter
}

func (s *spender) step(decide func(*state.Step)) {
	s.now = s.now.Add(time.Minute)
	step := s.run.Step(s.now)
	decide(step)
	s.run = s.run.With(step.Delta())
	for _, e := range s.run.Events {
		if err := s.to.Report(e); err != nil {
			s.t.Fatal(err)
		}
	}
}

// part is one part of the run, up to a cancel.
func (s *spender) part(resumed bool) {
	s.step(func(step *state.Step) {
		if resumed {
			step.Resume(nil)
			return
		}
		step.Begin()
	})
	for range 6 {
		s.step(func(step *state.Step) {
			for a, ok := step.Next(0); ok; a, ok = step.Next(0) {
				s.ids++
				st := &protocol.State{Name: a.State, Kind: protocol.Prompt}
				step.Start(a.ID, state.Launch{State: st, Plan: a.Plan(st, state.CLI{Name: protocol.BackendClaude, Resumes: true, Branches: true, ChoosesID: true}), SessionID: fmt.Sprint("s-", s.ids), Cwd: "/d"})
			}
		})
		s.step(func(step *state.Step) {
			for _, a := range s.run.Agents {
				if a.Status == state.Busy && s.rnd.IntN(2) == 0 {
					step.End(a.ID, &protocol.State{Name: a.State, Kind: protocol.Prompt}, s.outcome(state.Transient))
				}
			}
		})
	}
	s.step(func(step *state.Step) {
		for _, a := range s.run.Agents {
			if a.Status == state.Busy {
				step.End(a.ID, &protocol.State{Name: a.State, Kind: protocol.Prompt}, s.outcome(state.Stopped))
			}
		}
		step.Close(step.Closing(&state.Stop{Status: state.Cancelled, Reason: "SIGINT"}))
	})
}

func (s *spender) outcome(class state.Class) state.Outcome {
	cents := state.Dollar / 10_000 * state.USD(1+s.rnd.IntN(9))
	used := state.ModelCost{Usage: state.Usage{Model: []string{"opus", "haiku"}[s.rnd.IntN(2)], Input: 10}, CostUSD: cents}
	o := state.Outcome{}
	switch s.rnd.IntN(5) {
	case 0:
		o.Used = []state.ModelCost{used}
	case 1: // unknown
	case 2: // tokens, some of them without a price
		other := state.ModelCost{Usage: state.Usage{Model: "local", Output: 1 + s.rnd.Int64N(700)}}
		o.Cost = state.Cost{Kind: state.Exact, USD: cents, Usage: []state.ModelCost{used, other}, Unpriced: other.Output, Listed: true}
		if s.rnd.IntN(2) == 0 {
			o.Cost.USD, o.Cost.Usage = 0, []state.ModelCost{other}
		}
	default:
		o.Cost = state.Cost{Kind: state.Exact, USD: cents, Usage: []state.ModelCost{used}}
	}
	if class == state.Stopped || s.rnd.IntN(3) == 0 {
		o.Failure = &state.Failure{Class: class, Message: "x"}
		return o
	}
	o.Decision = protocol.Decision{Then: protocol.Move{Verb: protocol.Goto, To: "A.md"}}
	if s.rnd.IntN(3) == 0 {
		o.Decision.Spawns = []protocol.Spawn{{State: "A.md", Next: "A.md"}}
	}
	return o
}

var (
	amountPattern  = regexp.MustCompile(`(~?)\$([0-9.]+)( \+ [0-9.k]+ tokens?)?( \+ unknown)?|(~?)([0-9.k]+) tokens?( \+ unknown)?|unknown`)
	tokensPattern  = regexp.MustCompile(`([0-9.]+)(k?) token`)
	headPattern    = regexp.MustCompile(`\*\*(.*)\*\*`)
	rowPattern     = regexp.MustCompile(`(?m)^\| \d+ \|.*$`)
	sectionPattern = regexp.MustCompile(`<summary>.*state.*</summary>`)
)

// amounts is the sum of the amounts in texts, and how far it may be off because each is
// rounded to a hundredth of a cent.
type amounts struct {
	sum, off           state.USD
	estimated, unknown bool
	tokens, tokensOff  float64 // those without a price
}

func (a *amounts) is(want state.Spent) bool {
	apart := max(a.sum-want.USD, want.USD-a.sum)
	tokensApart := math.Abs(a.tokens - float64(want.Unpriced))
	return apart <= a.off && tokensApart <= a.tokensOff && a.estimated == want.Estimated && a.unknown == (want.Unknown > 0)
}

// shown adds up the amounts that stand in texts.
func shown(t *testing.T, texts ...string) (all amounts) {
	t.Helper()
	for _, text := range texts {
		for _, m := range amountPattern.FindAllStringSubmatch(text, -1) {
			all.unknown = all.unknown || strings.Contains(m[0], "unknown")
			all.estimated = all.estimated || m[1]+m[5] != ""
			if n := tokensPattern.FindStringSubmatch(m[0]); n != nil {
				all.addTokens(t, n[1], n[2] == "k")
			}
			if m[2] == "" {
				continue
			}
			usd, err := state.ParseUSD(m[2])
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			all.sum, all.off = all.sum+usd, all.off+state.Dollar/20_000
		}
	}
	return all
}

// addTokens adds a number of tokens, which may be one of thousands.
func (a *amounts) addTokens(t *testing.T, number string, thousands bool) {
	t.Helper()
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Fatal(err)
	}
	if thousands {
		n *= 1000
		a.tokensOff += 50.01
	}
	a.tokens += n
}

// TestOneSum: after each part of a run, whatever was cut off in it, the headline, the rows
// of the table, the costs by model and the costs of agents each add up to the ledger, and
// each of them marks estimates and unknown costs.
func TestOneSum(t *testing.T) {
	for seed := range uint64(20) {
		p := &page{}
		summary := summaryTo(p)
		run := state.New(state.Run{
			WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/d",
			Files:   map[string]string{"A.md": strings.Repeat("ab", 32)},
			Options: state.Options{MaxParallel: 9, MaxAgents: 9, MaxDepth: 4, MaxRetries: 50, PermissionMode: "acceptEdits"},
		}, "", nine)
		s := &spender{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), run: run, now: nine, to: summary}
		for part := range 3 {
			s.part(part > 0)
			text := summary.document().page()
			want := s.run.Spent()
			head := headPattern.FindStringSubmatch(text)[1]
			models, _, _ := strings.Cut(text, "### Agents")
			_, models, _ = strings.Cut(models, "Cost by model:")
			rows := rowPattern.FindAllString(text, -1)
			if all, _, isLong := strings.Cut(text, "<details><summary>All "); isLong && len(rows) > maxFirst {
				rows = strings.Split(all[strings.Index(all, "### States"):], "\n")
			}
			for what, texts := range map[string][]string{
				"headline": {head}, "table": rows, "models": {models}, "agents": sectionPattern.FindAllString(text, -1),
			} {
				if what == "models" && models == "" {
					continue // none is known
				}
				if got := shown(t, texts...); !got.is(want) {
					t.Fatalf("seed %d part %d: %s: got %+v, want %+v\n%s", seed, part, what, got, want, text)
				}
			}
			if want.String() != head {
				t.Errorf("seed %d: headline: got %q, want %q", seed, head, want)
			}
		}
	}
}

package state

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A state file keeps the results of the agents that ended last and the newest entries
// of the ledger one by one. Older ones are added up. That waits until there are some
// more, so that it costs next to nothing per step.
const (
	keptEndings = 1000
	keptEntries = 1000
	foldSlack   = 250
)

// Past has what a run no longer keeps one by one, added up.
type Past struct {
	// Agents counts the agents that ended and whose results are no longer kept.
	Agents int `json:"agents,omitempty"`
	// Sums has older entries of the ledger, in order of agent and kind.
	Sums []Sum `json:"sums,omitempty"`
}

// Sum is what older entries of the ledger add up to, of one agent and one kind.
type Sum struct {
	Agent   string   `json:"agent,omitempty" is:"agent?"` // "" for all agents that are no longer kept
	Kind    CostKind `json:"kind" is:"cost"`              // as in the ledger
	Entries int      `json:"entries" is:"positive"`       // how many there were
	CostUSD USD      `json:"cost_usd"`                    // what they cost
	// Unpriced counts the tokens that are not in CostUSD because their model has no price.
	Unpriced int64       `json:"unpriced,omitempty"`
	Models   []ModelCost `json:"models,omitempty"` // the shares of the models
}

// spent is the sum as people are told it.
func (s Sum) spent() Spent {
	all := Spent{USD: s.CostUSD, Estimated: s.Kind == Estimated, Unpriced: s.Unpriced}
	if s.Kind == Unknown {
		all.Unknown = s.Entries
	}
	return all
}

func (p *Past) sums() []Sum {
	if p == nil {
		return nil
	}
	return p.Sums
}

// Forgotten counts the agents that ended and whose results are no longer kept.
func (r *Run) Forgotten() int {
	if r.Past == nil {
		return 0
	}
	return r.Past.Agents
}

// Sums returns what the whole ledger adds up to, by agent and kind.
func (r *Run) Sums() []Sum {
	t := tally{}
	for sum := range r.ledger().sums() {
		t.add(sum)
	}
	return t.sorted()
}

// fold adds up what is too old to be kept one by one. It depends on nothing but the
// run, so that replaying a journal leads to the same run.
func (r *Run) fold() {
	if _, isPart := r.Parts.Own(); isPart {
		return // what is a part's own is told one by one when it is joined
	}
	old, long := r.oldEndings(), len(r.Ledger) > keptEntries+foldSlack
	if old == 0 && !long {
		return
	}
	p := Past{}
	if r.Past != nil {
		p = *r.Past
	}
	p.Agents += old
	r.Ended = slices.DeleteFunc(slices.Clone(r.Ended), func(e Ending) bool {
		drops := old > 0 && r.mayDrop(e)
		if drops {
			old--
		}
		return drops
	})
	first := 0 // of the entries that stay
	if long {
		first = len(r.Ledger) - keptEntries
	}
	t, names := tally{}, namesOf(r)
	for sum := range (ledger{past: r.Past, saved: r.Ledger[:first]}).sums() {
		if !names[sum.Agent] {
			sum.Agent = ""
		}
		t.add(sum)
	}
	p.Sums, r.Ledger = t.sorted(), slices.Clone(r.Ledger[first:])
	r.Past = &p
}

// oldEndings counts the results that it is time to drop.
func (r *Run) oldEndings() int {
	if len(r.Ended) <= keptEndings+foldSlack {
		return 0
	}
	may := 0
	for _, e := range r.Ended {
		if r.mayDrop(e) {
			may++
		}
	}
	if may <= keptEndings+foldSlack {
		return 0
	}
	return may - keptEndings
}

// mayDrop reports whether a result need not be kept: it is not that of the main agent, which is the
// result of the run, and no join may deliver it.
func (r *Run) mayDrop(e Ending) bool {
	return e.Agent != mainAgent && (!r.Progress.HasJoin || e.Delivered || e.Parent == "")
}

// namesOf has the agents of a run and those whose results are kept.
func namesOf(r *Run) map[string]bool {
	names := map[string]bool{}
	for _, a := range r.Agents {
		names[a.ID] = true
	}
	for _, e := range r.Ended {
		names[e.Agent] = true
	}
	return names
}

// tally adds up entries by agent and kind.
type tally map[tallyKey]Sum

type tallyKey struct {
	agent string
	kind  CostKind
}

func (t tally) add(s Sum) {
	key := tallyKey{s.Agent, s.Kind}
	sum := t[key]
	sum.Agent, sum.Kind = s.Agent, s.Kind
	sum.Entries += s.Entries
	sum.CostUSD = sum.CostUSD.Plus(s.CostUSD)
	sum.Unpriced = tokenSum(sum.Unpriced, s.Unpriced)
	sum.Models = addModels(sum.Models, s.Models)
	t[key] = sum
}

// sum is the entry as a sum of one.
func (e *Entry) sum() Sum {
	return Sum{Agent: e.Agent, Kind: e.Kind, Entries: 1, CostUSD: e.CostUSD, Unpriced: e.Unpriced, Models: e.Models}
}

func (t tally) sorted() []Sum {
	return slices.SortedFunc(maps.Values(t), func(a, b Sum) int {
		return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(string(a.Kind), string(b.Kind)))
	})
}

// addModels returns sums with more added, in order of name. Neither is changed.
func addModels(sums, more []ModelCost) []ModelCost {
	if len(more) == 0 {
		return sums
	}
	byName := map[string]ModelCost{}
	for _, m := range slices.Concat(sums, more) {
		sum := byName[m.Model]
		sum.Model = m.Model
		sum.Usage = sum.Plus(m.Usage)
		sum.CostUSD = sum.CostUSD.Plus(m.CostUSD)
		byName[m.Model] = sum
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b ModelCost) int { return strings.Compare(a.Model, b.Model) })
}

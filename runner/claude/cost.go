package claude

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// resultLayout names the token counters in a result record for one model.
var resultLayout = keyproxy.Layout{
	Input: []string{"inputTokens"}, Output: []string{"outputTokens"}, CacheRead: "cacheReadInputTokens", CacheWrite: "cacheCreationInputTokens",
}

// cumulativeSince is the first version that includes earlier processes in its counts when a conversation
// is resumed or branched.
var cumulativeSince = program.Version{2, 1, 277}

// costs determines the cost of a process. It uses the process's result records and the tokens that were
// counted while the process was running.
type costs struct {
	// meter counts the tokens in the CLI's output.
	meter   meter
	proxy   *keyproxy.Account // counts tokens in the API's responses; nil without a key proxy
	prior   priorCount        // the CLI's counts when the process began
	version program.Version   // the version that the CLI reported

	last *result // the newest result record
	// shares is the sum of the shares in all result records. A share is the usage since the previous record.
	shares     shares
	lacksShare bool // a result record contains no valid share
}

// total returns the cost of the process, including usage that the CLI did not report.
func (c *costs) total() state.Cost {
	cost := c.reported()
	cost.Metered = c.proxy.Metered()
	counted := c.counted()
	cost.Silent = !c.meter.hasOutput && len(counted) == 0
	isSum := cost.Kind != "" && cost.USD > 0 && len(c.last.ModelUsage) == 0
	cost.Unreported = keyproxy.Beyond(counted, assignUnnamed(cost.Usage, counted), isSum)
	return cost
}

// assignUnnamed returns the reported shares, and a further share for each counted model that no share names.
// The CLI may report usage under another name than the API's, for example the name of an inference profile.
// The tokens of such shares are also assigned to the further shares, so that they don't count as unreported.
func assignUnnamed(shares []state.ModelCost, counted []keyproxy.Sum) []state.ModelCost {
	var rest state.Usage
	for _, s := range shares {
		isCounted := slices.ContainsFunc(counted, func(m keyproxy.Sum) bool { return state.SameModel(s.Model, m.Model) })
		if !isCounted && !strings.Contains(s.Model, "claude-") {
			rest = rest.Plus(s.Usage)
		}
	}
	all := slices.Clone(shares)
	for _, m := range counted {
		if !slices.ContainsFunc(shares, func(s state.ModelCost) bool { return state.SameModel(s.Model, m.Model) }) {
			rest.Model = m.Model
			all = append(all, state.ModelCost{Usage: rest})
			rest = rest.Minus(m.Usage)
		}
	}
	return all
}

// counted returns the tokens that were counted for the process. It uses the counts of the key proxy if
// there are any, and the counts from the CLI's output otherwise.
func (c *costs) counted() []keyproxy.Sum {
	if list := c.proxy.Used(); len(list) > 0 {
		return list
	}
	return c.meter.sums.With(maps.Values(c.meter.open))
}

// reported returns the cost that the process's result records report for all its turns. If the records
// contain no valid cost, the Kind of the result is empty.
func (c *costs) reported() state.Cost {
	if c.last == nil {
		return state.Cost{}
	}
	cost := state.Cost{Kind: state.Exact}
	total, isTotal := program.ParseDollars(c.last.TotalCost)
	models := byModel(c.last.ModelUsage)
	goesOn := isTotal && !c.version.Before(cumulativeSince)
	if goesOn {
		cost.RunningTotal = state.RunningTotal{USD: total, Models: models}
	}
	switch {
	case !c.lacksShare:
		cost.Usage = c.shares.list()
		for _, m := range cost.Usage {
			cost.USD = cost.USD.Plus(m.CostUSD)
		}
	case goesOn:
		before := c.prior.read()
		cost.USD, cost.Usage = max(0, total-before.USD), growth(models, before.Models)
	case isTotal:
		cost.USD, cost.Usage = total, models
	default:
		return state.Cost{}
	}
	// The CLI learns the cost of a model response when the response has ended. If the last response broke
	// off, the reported total lacks its cost or contains only an estimate of it.
	brokeOff := c.last.Subtype == "success" && c.last.IsError && c.last.hasText && !c.last.isRefusal()
	if !brokeOff && !c.last.isCut() && c.last.TerminalReason != "aborted_streaming" {
		return cost
	}
	if cost.USD == 0 {
		cost.Kind, cost.Usage = "", nil
		return cost
	}
	cost.Kind = state.Estimated
	return cost
}

// growth returns the usage and cost of each model in the list now, minus the usage and cost that the list
// before contains for the same model.
func growth(now, before []state.ModelCost) []state.ModelCost {
	var list []state.ModelCost
	for _, m := range now {
		for _, b := range before {
			if b.Model == m.Model {
				m.Usage, m.CostUSD = m.Minus(b.Usage), max(0, m.CostUSD-b.CostUSD)
			}
		}
		if m.CostUSD > 0 || m.Usage != (state.Usage{Model: m.Model}) {
			list = append(list, m)
		}
	}
	return list
}

// shares maps models to their tokens and costs. The names are without a variant like "[1m]".
type shares map[string]state.ModelCost

// add adds the models in a record. It reports whether the record is valid and contains a cost for each
// model.
func (s shares) add(raw jsontext.Value) bool {
	var reported map[string]struct {
		USD    jsontext.Value `json:"costUSD"`
		Counts jsontext.Value `json:",embed"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &reported, loose) != nil {
		return false
	}
	isValid := reported != nil
	for name, u := range reported {
		usd, ok := program.ParseDollars(u.USD)
		isValid = isValid && ok
		name = withoutVariant(name)
		s[name] = state.ModelCost{CostUSD: s[name].CostUSD.Plus(usd), Usage: resultLayout.Usage(u.Counts, name).Plus(s[name].Usage)}
	}
	return isValid
}

// list returns the shares, sorted by the names of the models.
func (s shares) list() []state.ModelCost {
	return slices.SortedFunc(maps.Values(s), func(a, b state.ModelCost) int { return strings.Compare(a.Model, b.Model) })
}

// byModel returns the tokens and costs of the models in one record.
func byModel(raw jsontext.Value) []state.ModelCost {
	s := shares{}
	s.add(raw)
	return s.list()
}

// priorCount finds the counts that the CLI had stored for a session before a process resumed or branched
// the session. The zero value is for a new session, whose counts are zero.
type priorCount struct {
	path  string             // path of the transcript; "" if there is none
	size  int64              // size of the transcript when the process began; the process may extend it
	known state.RunningTotal // the counts that the state file contains
}

// priorCount returns the counts with which the process of an order begins.
func (b *Backend) priorCount(o runner.Order) priorCount {
	session := o.Prompt.SessionID
	switch o.Prompt.Session {
	case state.Branch:
		session = o.Prompt.From
	case state.Resume:
	default:
		return priorCount{}
	}
	p := priorCount{known: o.Prompt.Reached}
	p.path, _, _ = transcriptsOf(b.Env).Path(session, o.Dir)
	p.size, _ = transcripts.Size(p.path)
	return p
}

// read returns the newest counts in the transcript. They take precedence over the known counts, because they
// include the usage of processes that were killed, and because they are cut back together with the
// conversation. If the transcript is very long, only its end is read. If that part contains no counts, read
// returns the known counts.
func (p priorCount) read() state.RunningTotal {
	last := p.known
	_ = transcripts.Read(p.path, max(0, p.size-transcripts.MaxRead), p.size, func(_ int64, line []byte, truncated bool) error {
		if truncated || !bytes.Contains(line, []byte(`"cost-state"`)) || typeOf(line) != "cost-state" {
			return nil
		}
		var c struct {
			TotalCost  jsontext.Value `json:"totalCostUSD"`
			ModelUsage jsontext.Value `json:"modelUsage"`
		}
		if json.Unmarshal(line, &c, jsonstrict.Loose) != nil {
			return nil
		}
		if usd, ok := program.ParseDollars(c.TotalCost); ok {
			last = state.RunningTotal{USD: usd, Models: byModel(c.ModelUsage)}
		}
		return nil
	})
	return last // the known counts if the transcript can't be read
}

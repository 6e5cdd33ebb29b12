package page

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/state"
)

// WriteIndex writes the page of an index of many runs. Its policy is that of Write.
func WriteIndex(w io.Writer, x *insight.Index) error {
	out := bufio.NewWriterSize(w, 64<<10)
	code := common + indexScript
	writeHead(out, head{Title: "All runs", Script: code})
	if err := templates().ExecuteTemplate(out, "index", newIndex(x)); err != nil {
		return err
	}
	writeScript(out, code)
	return out.Flush()
}

// index is what the template of the index shows.
type index struct {
	Headline string
	Facts    []fact
	Days     []column
	MostDay  string
	Tables   []totals
	Runs     []runRow
	LeftOut  []string
}

// column is the bar of a day, in a box that is 100 high.
type column struct {
	X, Y, Width, Height float64
	Title, Label        string
}

// totals is a table of sums, which the reader may sort.
type totals struct {
	ID, Title, Of string
	HasWorkflow   bool
	Rows          []totalRow
}

// totalRow is a row of such a table, with its part of the largest cost in percent.
type totalRow struct {
	insight.Total
	Part int
	Time time.Duration
}

// runRow is a row of the table of runs.
type runRow struct {
	insight.Row
	Tone, Words string
	Lasted      time.Duration
	About       string // why it stopped, or can't be read
}

func newIndex(x *insight.Index) index {
	out := index{}
	var spent insight.Spent
	failed, executions, first := 0, 0, time.Time{}
	for _, r := range x.Runs {
		spent.USD = spent.USD.Plus(r.Spent.USD)
		spent.Estimated = spent.Estimated || r.Spent.Estimated
		executions += r.Executions
		if r.Status == string(state.Failed) {
			failed++
		}
		if !r.Created.IsZero() && (first.IsZero() || r.Created.Before(first)) {
			first = r.Created
		}
		out.Runs = append(out.Runs, newRunRow(r))
	}
	out.Headline = state.Count(len(x.Runs), "run") + ", " + dollars(spent)
	out.Facts = []fact{
		{"Cost", dollars(spent), ""}, {"Runs", fmt.Sprint(len(x.Runs)), fmt.Sprintf("%d failed", failed)},
		{"State executions", fmt.Sprint(executions), ""},
	}
	if !first.IsZero() {
		out.Facts[0].More = "since " + first.UTC().Format(time.DateOnly)
	}
	out.Days, out.MostDay = columns(x.ByDay)
	out.Tables = []totals{
		newTotals("states", "States", "state", x.ByState), newTotals("workflows", "Workflows", "workflow", x.ByWorkflow),
		newTotals("days", "Days", "day", x.ByDay),
	}
	for _, line := range x.LeftOut {
		out.LeftOut = append(out.LeftOut, shown(line))
	}
	return out
}

func newRunRow(r insight.Row) runRow {
	v := verdictOf(r.Status)
	row := runRow{Row: r, Tone: v.tone, Words: v.words, About: shortText(firstOf(r.Error, r.Reason))}
	if !r.Finished.IsZero() && !r.Created.IsZero() {
		row.Lasted = r.Finished.Sub(r.Created)
	}
	return row
}

func newTotals(id, title, of string, list []insight.Total) totals {
	t := totals{ID: id, Title: title, Of: of}
	var most state.USD
	for _, one := range list {
		most = max(most, one.Spent.USD)
	}
	for _, one := range list {
		one.Name, one.Workflow = shown(one.Name), shown(one.Workflow)
		t.HasWorkflow = t.HasWorkflow || one.Workflow != ""
		t.Rows = append(t.Rows, totalRow{one, percent(one.Spent.USD, most), time.Duration(one.DurationMS) * time.Millisecond})
	}
	return t
}

// mostDays is how many days have a bar.
const mostDays = 60

// columns returns bars for the newest days, the oldest of them first, with days on which
// nothing ran among them, and the largest amount.
func columns(byDay []insight.Total) ([]column, string) {
	costs, last := map[string]insight.Total{}, ""
	for _, d := range byDay {
		costs[d.Name], last = d, max(last, d.Name)
	}
	end, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return nil, ""
	}
	var days []insight.Total
	var most state.USD
	found := 0
	for i := 0; i < mostDays && found < len(costs); i++ {
		name := end.AddDate(0, 0, -i).Format(time.DateOnly)
		day, ok := costs[name]
		if ok {
			found++
		}
		day.Name = name
		days = append(days, day)
		most = max(most, day.Spent.USD)
	}
	slices.SortFunc(days, func(a, b insight.Total) int { return cmp.Compare(a.Name, b.Name) })
	slots := max(14, len(days))
	wide := 1000 / float64(slots)
	var out []column
	for i, d := range days {
		c := column{X: float64(slots-len(days)+i)*wide + wide*0.1, Width: wide * 0.8, Label: d.Name[len("2006-"):]}
		if most > 0 {
			c.Height = 100 * d.Spent.USD.Float() / most.Float()
		}
		c.Y = 100 - c.Height
		c.Title = fmt.Sprintf("%s: %s, %s", d.Name, state.Count(d.Runs, "run"), dollars(d.Spent))
		out = append(out, c)
	}
	return out, money(most)
}

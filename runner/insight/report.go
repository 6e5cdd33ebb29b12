// Package insight collects everything that is known about a run from its state file, its event log,
// the transcripts of its conversations and the snapshots of its workspace. The result is the data
// of the HTML report. Programs can read the same data as JSON.
//
// Secrets in texts are masked when the texts are read. The size of texts is limited, and the report
// has a note for each omission. Texts are not escaped; the package that writes the page does that.
package insight

import (
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Report is the data of the HTML report about a run.
type Report struct {
	WorkflowID string            `json:"workflow_id"`
	Status     string            `json:"status"` // "interrupted" if the run has not ended and no process drives it
	Outcome    string            `json:"outcome,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Scope      string            `json:"scope"`
	Entry      string            `json:"entry"`
	Meta       map[string]string `json:"meta,omitempty"`
	Created    time.Time         `json:"created"`
	Finished   time.Time         `json:"finished,omitzero"` // time of the last event
	Result     string            `json:"result,omitempty"`
	// Next describes how to continue the run. Commands in it are between backticks or start with
	// "raymond ".
	Next string `json:"next,omitempty"`

	Spent report.Spent `json:"spent"`
	// InheritedUSD is the cost inherited from the original run if this run began as a copy of it.
	InheritedUSD state.USD      `json:"inherited_usd,omitempty"`
	BudgetUSD    state.USD      `json:"budget_usd,omitempty"`
	RerunOf      *state.RerunOf `json:"rerun_of,omitempty"`
	// Segments are the periods in which the run was driven, each from a start or a resume to the
	// next stop.
	Segments   []report.Segment `json:"parts"`
	Agents     []report.Agent   `json:"agents"`
	Executions []report.Exec    `json:"executions"` // in the order of their numbers
	Waits      []report.Wait    `json:"waits"`
	Limits     []report.Limit   `json:"limits"`
	Costs      Costs            `json:"costs"`
	LeftOut    []string         `json:"left_out"` // one sentence for each omission
}

// Costs are the total costs of all executions.
type Costs struct {
	ByAgent []report.Sum `json:"by_agent"`
	ByState []report.Sum `json:"by_state"`
	ByModel []report.Sum `json:"by_model"`
}

// escapedSize returns how many bytes a text takes at most in a page. There, some characters are
// escaped.
func escapedSize(s string) int {
	n := len(s)
	for _, escaped := range []string{"<", ">", "&", `"`, "'", "+"} {
		n += 4 * strings.Count(s, escaped)
	}
	return n
}

// cutMiddle replaces the middle of a text with a note if the size of the escaped text exceeds most.
// It returns the text and the number of bytes that it removed.
func cutMiddle(s string, most int) (string, int64) {
	if len(s) <= most && escapedSize(s) <= most {
		return s, 0
	}
	most = max(0, most-40) // the note needs up to 40 bytes
	for room := most; ; room = room * 3 / 4 {
		head, tail := text.Prefix(s, room*2/3), text.Suffix(s, room/3)
		if escapedSize(head)+escapedSize(tail) <= most {
			out := len(s) - len(head) - len(tail)
			return fmt.Sprintf("%s\n[... %d bytes ...]\n%s", head, out, tail), int64(out)
		}
	}
}

// truncate shortens the text s so that its escaped size does not exceed most, and returns that
// size.
func truncate(s *string, most int) int {
	*s = shorten(*s, most)
	return escapedSize(*s)
}

// shorten is like cutMiddle, but returns only the text.
func shorten(s string, most int) string {
	s, _ = cutMiddle(s, most)
	return s
}

// The limits for the files that one execution has changed.
const (
	maxFilesPerExec = 200       // number of files
	maxDiffsPerExec = 256 << 10 // bytes of all diffs, escaped
)

// addFiles adds the files that executions changed, with diffs up to a total of room bytes. It
// returns the number of bytes used. It notes in the report for how many executions files or diffs
// are missing.
func addFiles(r *Report, s Source, room int) int {
	used, without, names := 0, 0, 0
	for _, x := range byImportance(r.Executions) {
		changed, ok := s.Files[x.N]
		if !ok {
			continue
		}
		x.IsShared = changed.IsShared
		if used >= room {
			names++
			continue
		}
		list := changed.Files[:min(len(changed.Files), maxFilesPerExec)]
		isCut, left := len(list) < len(changed.Files), min(maxDiffsPerExec, room-used)
		x.Files = make([]report.File, 0, len(list))
		for _, f := range list {
			f.Path, f.Diff = s.Hide(f.Path), s.Hide(f.Diff)
			n := escapedSize(f.Diff)
			if n > left {
				f.Diff, f.Cut, n = "", true, 0
			}
			left -= n
			used += escapedSize(f.Path) + n + 100
			isCut = isCut || f.Cut
			x.Files = append(x.Files, f)
		}
		if isCut {
			without++
		}
	}
	if without > 0 {
		r.addOmission("Some changed files or diffs of %s are left out.", state.Count(without, "state execution"))
	}
	if names > 0 {
		r.addOmission("The changed files of %s are left out; they would be too large for one page.", state.Count(names, "state execution"))
	}
	return used
}

package ask

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// Posted is a question that was asked in a comment of our own account.
type Posted struct {
	Pointer
	Comment int64
	IsOpen  bool // it doesn't say that somebody has answered
}

// Place is an issue or pull request, with what our own account has written there.
type Place struct {
	Posted []Posted // the newest first
	ours   []job.Remark
}

// Look looks at an issue or a pull request for comments of our own account, changed since
// a time at the earliest. If the service refuses to say whose our token is, there are none.
func Look(ctx context.Context, f Forum, number int, since time.Time) (Place, error) {
	var p Place
	list, err := f.Remarks(ctx, number, since)
	if err != nil {
		return p, err
	}
	list = slices.DeleteFunc(list, func(r job.Remark) bool { return r.Kind != job.OnIssue || !IsMarked(r.Body) })
	if len(list) == 0 {
		return p, nil
	}
	self, err := f.Self(ctx)
	if forge.IsPassing(err) {
		return p, err
	}
	for _, r := range slices.Backward(list) {
		if self == "" || r.Author.Login != self {
			continue
		}
		p.ours = append(p.ours, r)
		if pointer, ok := ParsePointer(r.Body); ok {
			p.Posted = append(p.Posted, Posted{pointer, r.ID, !strings.Contains(r.Body, answeredMark)})
		}
	}
	return p, nil
}

// Says reports whether our own account has said something there that begins so.
func (p Place) Says(mark string) bool {
	return slices.ContainsFunc(p.ours, func(r job.Remark) bool { return strings.HasPrefix(r.Body, mark) })
}

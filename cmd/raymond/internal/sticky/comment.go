package sticky

import (
	"cmp"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// comment is what is known about the comment.
type comment struct {
	marker string
	self   string // login of the account that writes our comments; "" for not known

	id         int64 // 0 for none yet
	shown      string
	duplicates []int64 // others of ours
	searched   bool    // all comments were looked at, and there was none of ours
	unverified bool    // created, and not known whether there is an older one
	unsure     bool    // a creation whose answer was lost may have made one
	recreated  int     // how often it was created again after somebody removed it
}

// isOurs reports whether we may change a comment. Anybody can write its text, but not
// under our name; and a text that quotes a comment of ours does not begin with its
// marker.
func (c *comment) isOurs(other job.Remark) bool {
	return other.ID != 0 && c.isMarked(other) && c.self != "" && other.Author.Login == c.self
}

func (c *comment) isMarked(other job.Remark) bool { return strings.HasPrefix(other.Body, c.marker) }

// found notes all comments. If several are ours, the oldest one stays, so that two
// Posters agree.
func (c *comment) found(all []job.Remark) {
	c.searched, c.unverified = true, false
	ours := slices.DeleteFunc(slices.Clone(all), func(other job.Remark) bool { return !c.isOurs(other) })
	if c.id != 0 && !slices.ContainsFunc(ours, func(other job.Remark) bool { return other.ID == c.id }) {
		ours = append(ours, job.Remark{ID: c.id, Body: c.shown}) // the list may lag behind
	}
	if len(ours) == 0 {
		return
	}
	oldest := slices.MinFunc(ours, func(a, b job.Remark) int { return cmp.Compare(a.ID, b.ID) })
	if c.id != oldest.ID {
		c.id, c.shown = oldest.ID, oldest.Body
	}
	c.duplicates = nil
	for _, other := range ours {
		if other.ID != c.id {
			c.duplicates = append(c.duplicates, other.ID)
		}
	}
}

// removed notes that the first duplicate is gone.
func (c *comment) removed() { c.duplicates = c.duplicates[1:] }

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

	remembered int64 // its id from an earlier Poster, not looked at yet; 0 for none
	id         int64 // 0 for none yet
	shown      string
	duplicates []int64 // others of ours
	searched   bool    // all comments were looked at, and there was none of ours
	unverified bool    // created, and not known whether there is an older one
	unsure     bool    // a creation whose answer was lost may have made one
	recreated  int     // how often it was created again after somebody removed it
}

// toFind is what to do as long as no comment is known.
func (c *comment) toFind() action {
	switch {
	case c.remembered != 0:
		return recall
	case !c.searched:
		return search
	}
	return create
}

// isOurs reports whether we may change a comment. Anybody can write its text, but not
// under our name; and a text that quotes a comment of ours does not begin with its
// marker.
func (c *comment) isOurs(other job.Comment) bool {
	return other.ID != 0 && c.isMarked(other) && c.self != "" && other.Author == c.self
}

func (c *comment) isMarked(other job.Comment) bool { return strings.HasPrefix(other.Body, c.marker) }

// recalled notes what the remembered comment is now.
func (c *comment) recalled(other job.Comment) {
	if c.remembered = 0; c.isOurs(other) {
		c.id, c.shown = other.ID, other.Body
	}
}

// found notes all comments. If several are ours, the oldest one stays, so that two
// Posters agree.
func (c *comment) found(all []job.Comment) {
	c.searched, c.unverified = true, false
	ours := slices.DeleteFunc(slices.Clone(all), func(other job.Comment) bool { return !c.isOurs(other) })
	if c.id != 0 && !slices.ContainsFunc(ours, func(other job.Comment) bool { return other.ID == c.id }) {
		ours = append(ours, job.Comment{ID: c.id, Body: c.shown}) // the list may lag behind
	}
	if len(ours) == 0 {
		return
	}
	oldest := slices.MinFunc(ours, func(a, b job.Comment) int { return cmp.Compare(a.ID, b.ID) })
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

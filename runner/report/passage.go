package report

import (
	"fmt"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// passage is a long text of which only the beginning and the end are kept.
type passage struct {
	head, tail string
	dropped    int // bytes between them
}

// newPassage returns a passage with at most limit bytes of a text, made printable.
func newPassage(s string, limit int) passage {
	return passage{head: block(s)}.within(limit)
}

// within returns the passage cut to limit bytes, two thirds of them from its
// beginning.
func (p passage) within(limit int) passage {
	if len(p.head)+len(p.tail) <= limit {
		return p
	}
	end := p.tail
	if p.dropped == 0 {
		end = p.head
	}
	c := passage{head: text.Before(p.head, limit*2/3), tail: text.After(end, limit-limit*2/3)}
	c.dropped = p.dropped + len(p.head) + len(p.tail) - len(c.head) - len(c.tail)
	return c
}

// String returns the passage with a line that says what was left out.
func (p passage) String() string {
	if p.dropped == 0 {
		return p.head
	}
	text := fmt.Sprintf("… %s left out …", count(p.dropped, "byte"))
	if p.head != "" {
		text = p.head + "\n" + text
	}
	if p.tail != "" {
		text += "\n" + p.tail
	}
	return text
}

// isEmpty reports whether there was no text.
func (p passage) isEmpty() bool { return p == passage{} }

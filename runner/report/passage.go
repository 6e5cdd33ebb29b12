package report

import (
	"fmt"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// passage is what is kept of a long text: its beginning and its end.
type passage struct {
	head, tail string
	dropped    int // bytes between them
}

// keep returns the passage of a text that holds at most most bytes of it.
func keep(s string, most int) passage {
	if len(s) <= 2*most {
		return passage{head: block(s)}.within(most)
	}
	head, tail := text.Before(s, most), text.After(s, most)
	p := passage{head: block(head), tail: block(tail), dropped: len(s) - len(head) - len(tail)}
	return p.within(most)
}

// within returns the passage cut down to most bytes: two thirds of them for its
// beginning.
func (p passage) within(most int) passage {
	if len(p.head)+len(p.tail) <= most {
		return p
	}
	end := p.tail
	if p.dropped == 0 {
		end = p.head
	}
	c := passage{head: text.Before(p.head, most*2/3), tail: text.After(end, most-most*2/3)}
	c.dropped = p.dropped + len(p.head) + len(p.tail) - len(c.head) - len(c.tail)
	return c
}

// keepEnd returns the passage that holds the last most bytes of a text.
func keepEnd(s string, most int) passage {
	if len(s) <= 2*most {
		return passage{head: block(s)}.lastBytes(most)
	}
	end := text.After(s, 2*most)
	return passage{tail: block(end), dropped: len(s) - len(end)}.lastBytes(most)
}

// lastBytes returns a passage of keepEnd cut down to its last most bytes.
func (p passage) lastBytes(most int) passage {
	all := p.head + p.tail
	if len(all) <= most {
		return p
	}
	end := text.After(all, most)
	return passage{tail: end, dropped: p.dropped + len(all) - len(end)}
}

// String is the passage with a line that says what was left out.
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

// size is how many bytes are kept.
func (p passage) size() int { return len(p.head) + len(p.tail) }

// isEmpty reports whether there was no text.
func (p passage) isEmpty() bool { return p == passage{} }

// ends returns a text without what lies more than most bytes from either end, so
// that there is a bound to the work on it.
func ends(s string, most int) string {
	if len(s) <= 2*most {
		return s
	}
	return text.Before(s, most) + "\n" + ellipsis + "\n" + text.After(s, most)
}

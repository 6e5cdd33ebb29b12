package insight

import (
	"slices"
)

// shares divides the room for messages among conversations. The most interesting ones, which
// are read first, have half of it between them, and may take much; the others have equal
// shares of the rest, of which those that need less leave more to the others.
type shares struct {
	pot     int // what is left
	favours int // what is left of it for the most interesting ones
	sizes   map[*conversation]int
	left    []int // sizes of conversations that were not read yet, sorted
	isWhole bool  // there is room for all

	read, seen float64 // bytes of transcripts, and what their messages would take
	current    *conversation
	limit      int
}

// newShares looks at the sizes of the transcripts.
func newShares(p *places, s Source, pot int) *shares {
	d := &shares{pot: pot, favours: pot / 2, sizes: map[*conversation]int{}}
	sum := 0
	for _, c := range p.all {
		agent := s.Agents[c.backend]
		if agent == nil {
			continue
		}
		size, _ := agent.Length(c.Conversation)
		d.sizes[c] = int(size)
		d.left = append(d.left, int(size))
		sum += int(size)
	}
	slices.Sort(d.left)
	d.isWhole = sum < pot
	return d
}

// of returns how much each execution in a conversation may take.
func (d *shares) of(c *conversation) int {
	if d.current == c {
		return d.limit
	}
	d.current = c
	switch {
	case d.isWhole, d.favours > 0:
		d.limit = mostOfExec
		if !d.isWhole {
			d.limit = min(mostOfExec, d.favours)
		}
	default:
		d.limit = d.level()
	}
	d.limit = max(leastOfExec, min(d.limit, d.pot)/max(1, len(c.begins)))
	return d.limit
}

// level is the equal share of the conversations that were not read yet.
func (d *shares) level() int {
	room := d.pot
	if d.seen > 0 {
		room = int(float64(room) * d.read / d.seen) // in bytes of transcripts
	}
	for i, size := range d.left {
		equal := room / (len(d.left) - i)
		if size > equal {
			return d.inPage(equal)
		}
		room -= size
	}
	return mostOfExec
}

// inPage returns about what so many bytes of transcripts take where they are shown.
func (d *shares) inPage(size int) int {
	if d.read == 0 {
		return size
	}
	return int(float64(size) * d.seen / d.read)
}

// spend notes what the messages of a conversation take, and would take.
func (d *shares) spend(c *conversation, used, seen int) {
	size := d.sizes[c]
	d.pot, d.favours = max(0, d.pot-used), max(0, d.favours-used)
	d.read, d.seen = d.read+float64(size), d.seen+float64(seen)
	if i, ok := slices.BinarySearch(d.left, size); ok {
		d.left = slices.Delete(d.left, i, i+1)
	}
}

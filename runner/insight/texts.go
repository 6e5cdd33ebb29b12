package insight

// mostTexts bounds the bulky texts of executions that are held while events are read, in
// bytes. What fits into a page is decided when all of them are known.
const mostTexts = 24 << 20

// texts drops the bulky texts of the executions that began first when there are too many.
type texts struct {
	held  int
	sizes map[*Exec]int
	queue []*Exec // that have some, in the order in which they got the first
}

// grow notes that an execution has got n bytes more.
func (t *texts) grow(x *Exec, n int) {
	if t.sizes == nil {
		t.sizes = map[*Exec]int{}
	}
	if t.sizes[x] == 0 {
		t.queue = append(t.queue, x)
	}
	t.sizes[x] += n + 16
	t.held += n + 16
	for t.held > mostTexts && len(t.queue) > 1 {
		first := t.queue[0]
		t.queue = t.queue[1:]
		t.held -= t.sizes[first]
		delete(t.sizes, first)
		first.dropTexts()
	}
}

// dropTexts removes the bulky texts of an execution, and says so.
func (x *Exec) dropTexts() {
	if len(x.Output) > 0 || x.Stdout != "" || x.Stderr != "" {
		x.IsCut = true
	}
	x.Output, x.Stdout, x.Stderr = nil, "", ""
	for i := range x.Attempts {
		for j := range x.Attempts[i].Results {
			if r := &x.Attempts[i].Results[j]; r.Tail != "" {
				r.Tail, r.Truncated, x.IsCut = "", true, true
			}
		}
	}
}

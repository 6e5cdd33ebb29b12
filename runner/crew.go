package runner

// mailbox is how many messages may wait, so that a worker that tells a line need not wait
// for the owner.
const mailbox = 16

// waiting returns a message and those that wait behind it, of which there may always be
// more: so at most as many as the mailbox holds.
func (r *Runner) waiting(first message) []message {
	all := []message{first}
	for len(all) < mailbox {
		select {
		case m := <-r.mail:
			all = append(all, m)
		default:
			return all
		}
	}
	return all
}

// drain ends and waits for the workers that an error left in flight, so that
// nothing outlives Run.
func (r *Runner) drain() {
	r.end(brokenStop)
	for r.busy > 0 {
		if m := <-r.mail; m.progress == nil {
			r.busy--
		}
	}
}

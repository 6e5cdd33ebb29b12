package runner

// mailbox is the capacity of the owner's channel, so that a worker that reports a line need not
// wait for the owner.
const mailbox = 16

// batch returns first and the messages that are waiting behind it, at most as many as the
// mailbox holds, because new ones may arrive all the time.
func (r *Runner) batch(first message) []message {
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

// drain stops the workers that an error left running, and waits for them, so that nothing
// outlives Run.
func (r *Runner) drain() {
	r.end(brokenStop)
	for r.busy > 0 {
		if m := <-r.mail; m.progress == nil {
			r.busy--
		}
	}
}

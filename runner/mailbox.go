package runner

// mailbox is the capacity of the channel to the owner. Workers can report lines without waiting
// for the owner as long as the channel is not full.
const mailbox = 16

// batch returns the message first and the messages that are waiting in the channel, but at most
// mailbox messages in all, because new ones may arrive all the time.
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

// drain stops the workers that are still running after an error, and waits for them, so that
// nothing outlives Run.
func (r *Runner) drain() {
	r.end(brokenStop)
	for r.busy > 0 {
		if m := <-r.mail; m.progress == nil {
			r.busy--
		}
	}
}

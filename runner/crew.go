package runner

import "context"

// crew are the workers of a run. Its methods are the owner's.
type crew struct {
	mail chan message // from the workers
	busy int          // workers that have not answered
}

// mailbox is how many messages may wait, so that a worker that tells a line need not wait
// for the owner.
const mailbox = 16

// start has a worker carry out an order.
func (c *crew) start(ctx context.Context, w worker, o Order) {
	c.busy++
	go w.work(ctx, o)
}

// waiting returns a message and those that wait behind it, of which there may always be
// more: so at most as many as the mailbox holds.
func (c *crew) waiting(first message) []message {
	all := []message{first}
	for len(all) < mailbox {
		select {
		case m := <-c.mail:
			all = append(all, m)
		default:
			return all
		}
	}
	return all
}

// drain waits for the workers in flight.
func (c *crew) drain() {
	for c.busy > 0 {
		if m := <-c.mail; m.progress == nil {
			c.busy--
		}
	}
}

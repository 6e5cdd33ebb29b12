package runner

import "context"

// crew are the workers of a run. Its methods are the owner's.
type crew struct {
	mail     chan message // from the workers
	busy     int          // workers that have not answered
	idle     chan job     // read by workers that have answered
	payloads payloads
}

// job is what a worker does.
type job struct {
	ctx    context.Context
	worker worker
	order  Order
}

// mailbox is how many messages may wait, so that a worker that tells a line need not wait
// for the owner.
const mailbox = 16

func newCrew(payloadDir string) crew {
	return crew{mail: make(chan message, mailbox), idle: make(chan job), payloads: payloads{dir: payloadDir}}
}

// start has a worker do a job: one that waits for the next, whose stack has grown already,
// or a new one.
func (c *crew) start(j job) {
	c.busy++
	select {
	case c.idle <- j:
		return
	default:
	}
	go func() {
		for more := true; more; j, more = <-c.idle {
			j.worker.work(j.ctx, j.order)
		}
	}()
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

// ended is called with the last message of an invocation.
func (c *crew) ended(agent string) {
	c.busy--
	c.payloads.release(agent)
}

// drain waits for the workers in flight, and lets all of them go.
func (c *crew) drain() {
	for c.busy > 0 {
		if m := <-c.mail; m.progress == nil {
			c.busy--
		}
	}
	close(c.idle)
}

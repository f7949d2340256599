//go:build linux

package netfault

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"time"

	"github.com/florianl/go-nfqueue/v2"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

// run lets packets go when they are due. It waits in ppoll, not on a time.Timer: an idle Go program
// waits in epoll_wait, whose timeout is in whole milliseconds, and would be up to 1 ms late.
func (q *queue) run(ctx context.Context) {
	defer close(q.done)
	wake := []unix.PollFd{{Fd: int32(q.wake), Events: unix.POLLIN}}
	for ctx.Err() == nil {
		limit := unix.NsecToTimespec(int64(q.letGo()))
		if n, _ := unix.Ppoll(wake, &limit, nil); n > 0 {
			_, _ = unix.Read(q.wake, make([]byte, 8))
		}
	}
}

// letGo lets go what is due, and returns how long the next packet has to wait.
func (q *queue) letGo() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	const idle = time.Hour
	for len(q.waiting) > 0 {
		next := q.waiting[0]
		if next.due == math.MaxInt64 {
			return idle
		}
		if left := next.due - monotime.Now(); left > 0 {
			return time.Duration(left)
		}
		q.accept(heap.Pop(&q.waiting).(*pending))
	}
	return idle
}

func (q *queue) awake() { _, _ = unix.Write(q.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// accept lets a packet go that has waited and is no longer in the heap.
func (q *queue) accept(p *pending) {
	if p.held {
		p.by.held = slices.DeleteFunc(p.by.held, func(other *pending) bool { return other == p })
		p.by.stats.Released++
		p.by.changed()
	}
	q.verdict(p, nfqueue.NfAccept)
}

// release lets go at once what a diversion holds, and what it delays too if it is to end.
func (q *queue) release(d *Diversion, delayed bool) (released int) {
	out := q.waiting.take(func(p *pending) bool { return (p.held || delayed) && (d == nil || p.by == d) })
	for _, p := range out {
		q.accept(p)
	}
	return len(out)
}

// verdict is called with mu held, so verdicts leave in the order of decisions.
// Copies follow the packet.
func (q *queue) verdict(p *pending, verdict int) {
	if err := q.nf.SetVerdict(p.id, verdict); err != nil && p.by != nil {
		p.by.stats.Errors++
	}
	if p.copies == 0 || verdict != nfqueue.NfAccept {
		return
	}
	to := &unix.SockaddrInet4{Addr: p.packet.Dst.Addr().As4()}
	for range p.copies {
		if p.packet.Dir == In || unix.Sendto(q.raw, p.packet.raw, 0, to) != nil {
			p.copier.stats.Errors++
			continue
		}
		p.copier.stats.Copied++
	}
	p.copier.changed()
}

// reset aborts the packet's connection, away from the goroutine that decides.
func (q *queue) reset(p *pending) {
	c, d := p.packet.Connection(), p.resetBy
	q.resets.Go(func() {
		var was bool
		err := q.filter.host.Do(func() (err error) { was, err = destroy(c); return err })
		q.mu.Lock()
		defer q.mu.Unlock()
		switch {
		case err != nil:
			d.stats.Errors++
		case was:
			d.stats.Reset++
		default:
			d.stats.Gone++
		}
		d.changed()
	})
}

//go:build linux

package netfault

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
	"golang.org/x/sys/unix"
)

// Diversion is a fault that is decided packet by packet, in this program.
type Diversion struct {
	rule    *Rule
	queue   *queue
	tag     string
	matches []Match
	decide  Decide

	// Guarded by the queue's lock.
	held    []*pending
	stats   Stats
	news    chan struct{} // closed at the next change; nil while nobody waits
	removed bool
}

// Divert sends every packet that matches to decide. When this program is killed, packets pass.
func (f *Filter) Divert(tag string, decide Decide, matches ...Match) (*Diversion, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.divert(tag, decide, matches)
	if err != nil {
		return nil, f.failed("divert", tag, err)
	}
	return d, nil
}

// divert is called with mu held.
func (f *Filter) divert(tag string, decide Decide, matches []Match) (*Diversion, error) {
	if f.closed {
		return nil, ErrClosed
	}
	if f.queue == nil {
		q, err := openQueue(f)
		if err != nil {
			return nil, err
		}
		f.queue = q
	}
	d := &Diversion{queue: f.queue, tag: tag, matches: slices.Clone(matches), decide: decide}
	d.queue.attach(d)
	var err error
	if d.rule, err = f.insertDiversion(tag, matches); err != nil {
		d.queue.detach(d)
		return nil, err
	}
	return d, nil
}

// insertDiversion tries the kernel's own queue expression first, and then that of xtables.
func (f *Filter) insertDiversion(tag string, matches []Match) (*Rule, error) {
	try := func(to expr.Any) (*Rule, error) {
		return f.insert(tag, matches, func(d Direction) *nftables.Chain { return f.table.divert[d] },
			func(m Match) []expr.Any {
				return append(m.exprs(), &expr.Counter{}, to)
			})
	}
	if !f.compat {
		r, err := try(&expr.Queue{Num: queueNumber, Total: 1, Flag: expr.QueueFlagBypass})
		if !errors.Is(err, unix.ENOENT) {
			return r, err
		}
		f.compat = true
	}
	r, err := try(xtablesQueue())
	if errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("divert to NFQUEUE, which this kernel has neither in nf_tables (module nft_queue) nor in xtables (modules nft_compat, xt_NFQUEUE): %w", err)
	}
	return r, err
}

// xtablesQueue is xtables' target NFQUEUE, revision 3, for kernels without nft_queue:
// struct xt_NFQ_info_v3 { u16 queuenum, queues_total, flags; } in the machine's byte
// order, padded to the alignment of u64. When nobody listens, packets pass (flag 1).
func xtablesQueue() *expr.Target {
	info := make([]byte, 8)
	binary.NativeEndian.PutUint16(info[0:], queueNumber)
	binary.NativeEndian.PutUint16(info[2:], 1)
	binary.NativeEndian.PutUint16(info[4:], 1)
	return &expr.Target{Name: "NFQUEUE", Rev: 3, Info: (*xt.Unknown)(&info)}
}

func (q *queue) attach(d *Diversion) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.diversions = append(q.diversions, d)
}

// detach ends a diversion: what it delays or holds goes on at once.
func (q *queue) detach(d *Diversion) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.diversions = slices.DeleteFunc(q.diversions, func(other *Diversion) bool { return other == d })
	q.release(d, true)
	d.removed = true
	d.changed()
}

func (d *Diversion) meets(p *Packet) bool {
	return slices.ContainsFunc(d.matches, func(m Match) bool { return m.meets(p) })
}

// count is called with the queue's lock held.
func (d *Diversion) count(p *Packet, fate Fate) {
	if fate.Gauge {
		return
	}
	d.stats.Seen++
	switch {
	case fate.Drop:
		d.stats.Dropped++
	case fate.Hold:
		d.stats.Held++
	case fate.Delay > 0:
		d.stats.Delayed++
	}
	if fate != (Fate{}) {
		if d.stats.First == 0 {
			d.stats.First = p.At
		}
		d.stats.Last = p.At
	}
	d.changed()
}

// changed is called with the queue's lock held.
func (d *Diversion) changed() {
	if d.news != nil {
		close(d.news)
		d.news = nil
	}
}

// Stats returns what has become of the packets so far.
func (d *Diversion) Stats() Stats {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	s := d.stats
	s.Overruns = d.queue.overruns
	return s
}

// Await waits until a condition on the statistics holds, such as that a packet
// is held, and returns them.
func (d *Diversion) Await(ctx context.Context, holds func(Stats) bool) (Stats, error) {
	for {
		d.queue.mu.Lock()
		if d.news == nil {
			d.news = make(chan struct{})
		}
		news, removed := d.news, d.removed || d.queue.closed
		d.queue.mu.Unlock()
		s := d.Stats()
		if holds(s) {
			return s, nil
		}
		if removed {
			return s, d.queue.filter.failed("await", d.tag, fmt.Errorf("the diversion has ended: %v", s))
		}
		select {
		case <-news:
		case <-ctx.Done():
			return s, d.queue.filter.failed("await", d.tag, fmt.Errorf("%w; so far %v", ctx.Err(), s))
		}
	}
}

// Held returns the packets that are being held, in the order of their arrival.
func (d *Diversion) Held() []Packet {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	var held []Packet
	for _, p := range d.held {
		held = append(held, p.packet)
	}
	return held
}

// Release lets the held packets go, in the order of their arrival, and returns
// how many there were. The diversion goes on.
func (d *Diversion) Release() int {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	return d.queue.release(d, false)
}

// Remove heals: the rule goes, what is delayed or held is let go at once,
// nothing is lost. A second call returns the same again.
func (d *Diversion) Remove() (Stats, error) {
	_, err := d.rule.Remove()
	d.queue.detach(d)
	return d.Stats(), err
}

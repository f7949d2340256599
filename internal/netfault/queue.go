//go:build linux

package netfault

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/florianl/go-nfqueue/v2"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

// queueNumber is that of our NFQUEUE in every network namespace: unlikely to be anybody else's.
const queueNumber = 7360

// The netfilter hooks by which a packet tells its direction (linux/netfilter.h).
const hookLocalIn = 1

// queueLength is how many packets may wait in a queue; more than that pass.
const queueLength = 1 << 16

// queue takes packets of one host out of the kernel, waits, and puts them back.
// It serves all diversions of the host: a packet goes through those that match,
// in the order in which they were made.
type queue struct {
	filter *Filter
	nf     *nfqueue.Nfqueue
	cancel context.CancelFunc
	raw    int // socket for copies
	wake   int // eventfd: something is due earlier than before
	done   chan struct{}
	// the kernel has answered echo, behind the packets that it had queued before
	echoed chan struct{}
	resets sync.WaitGroup

	mu         sync.Mutex
	diversions []*Diversion
	waiting    waiting
	order      uint64
	overruns   uint64
	closed     bool
}

// pending is a packet that waits.
type pending struct {
	id    uint32
	due   int64      // monotime stamp; math.MaxInt64 while it is held without limit
	order uint64     // equal dues leave in the order of arrival
	by    *Diversion // the last that delayed or held it
	held  bool
	// longest is how long it may be held; 0: until it is released.
	longest time.Duration
	copies  int
	copier  *Diversion // the last that asked for copies
	// resetBy is the last that asked for a reset of the connection.
	resetBy *Diversion
	packet  Packet
}

// openQueue listens. Rules come second, and go first when healing.
func openQueue(f *Filter) (*queue, error) {
	nf, err := nfqueue.Open(&nfqueue.Config{
		NetNS: f.host.NetNS, NfQueue: queueNumber, AfFamily: unix.AF_INET, Copymode: nfqueue.NfQnlCopyPacket,
		MaxPacketLen: math.MaxUint16, MaxQueueLen: queueLength, WriteTimeout: kernelLimit,
		// No NfQaCfgFlagGSO: the kernel then cuts large packets to the MTU and
		// completes checksums, as a wire would see them.
		Flags: nfqueue.NfQaCfgFlagFailOpen,
	})
	if err != nil {
		return nil, fmt.Errorf("open NFQUEUE (kernel module nfnetlink_queue?): %w", err)
	}
	_ = nf.Con.SetReadBuffer(4 << 20) // less, where the kernel does not grant it
	ctx, cancel := context.WithCancel(context.Background())
	q := &queue{filter: f, nf: nf, cancel: cancel, raw: -1, wake: -1, done: make(chan struct{}),
		echoed: make(chan struct{}, 1)}
	if err := q.sockets(); err != nil {
		return nil, errors.Join(err, q.free())
	}
	if err := nf.RegisterWithErrorFunc(ctx, q.arrive, func(err error) int { return q.failed(ctx, err) }); err != nil {
		return nil, errors.Join(fmt.Errorf("bind NFQUEUE %d (is it somebody else's?): %w", queueNumber, err), q.free())
	}
	go q.run(ctx)
	return q, nil
}

// sockets makes what is needed to send copies and to wake up.
func (q *queue) sockets() (err error) {
	if q.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("make an eventfd: %w", err)
	}
	return q.filter.host.Do(func() (err error) {
		if q.raw, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW); err != nil {
			return fmt.Errorf("open a raw socket for copies (CAP_NET_RAW?): %w", err)
		}
		if err := unix.SetsockoptInt(q.raw, unix.SOL_SOCKET, unix.SO_MARK, copyMark); err != nil {
			return fmt.Errorf("mark the raw socket: %w", err)
		}
		return nil
	})
}

// failed is called when reading fails; 1 ends it.
func (q *queue) failed(ctx context.Context, err error) int {
	if ctx.Err() != nil || errors.Is(err, os.ErrClosed) {
		return 1
	}
	if errors.Is(err, unix.EINVAL) { // what echo asked for; nothing else is refused like that
		select {
		case q.echoed <- struct{}{}:
		default:
		}
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.overruns++ // ENOBUFS: the kernel had more than the socket could take; fail-open lets it pass
	return 0
}

// arrive decides about one packet. The library calls it for one after the other.
func (q *queue) arrive(a nfqueue.Attribute) int {
	if a.PacketID == nil {
		return 0
	}
	p := &pending{id: *a.PacketID}
	dir := Out
	if a.Hook != nil && *a.Hook == hookLocalIn {
		dir = In
	}
	if a.Payload != nil {
		p.packet = parse(*a.Payload, dir, monotime.Now())
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.heldAlready(&p.packet) {
		q.verdict(p, nfqueue.NfDrop)
		return 0
	}
	fate := q.decide(p)
	switch {
	case fate.Drop:
		q.verdict(p, nfqueue.NfDrop)
	case fate.Hold, fate.Delay > 0:
		q.keep(p, fate)
	default:
		q.verdict(p, nfqueue.NfAccept)
	}
	if p.resetBy != nil {
		q.reset(p)
	}
	return 0
}

// heldAlready counts retransmissions of a segment that is being held. Only a
// queue on the receiver's side sees any: TCP does not send again what still lies
// in a queue of its own host. They must be dropped, or the hold would be void.
func (q *queue) heldAlready(p *Packet) bool {
	for _, d := range q.diversions {
		for _, h := range d.held {
			if p.repeats(&h.packet) {
				d.stats.Repeated++
				d.changed()
				return true
			}
		}
	}
	return false
}

// decide sends the packet through all diversions that match it. Delays add up;
// who drops it, ends its way.
func (q *queue) decide(p *pending) (total Fate) {
	for _, d := range q.diversions {
		if !d.meets(&p.packet) {
			continue
		}
		fate := d.decide(&p.packet)
		d.count(&p.packet, fate)
		if fate.Hold || fate.Delay > 0 && !p.held {
			p.by, p.held = d, p.held || fate.Hold
		}
		if fate.Reset {
			p.resetBy = d
		}
		if fate.Drop {
			total.Drop = true
			return total
		}
		if fate.Copies > 0 {
			p.copies, p.copier = p.copies+fate.Copies, d
		}
		if fate.Hold {
			total.Hold, p.longest = true, fate.Delay
		} else {
			total.Delay += fate.Delay
		}
	}
	return total
}

// keep lets a packet wait.
func (q *queue) keep(p *pending, fate Fate) {
	q.order++
	p.order, p.due = q.order, p.packet.At+int64(max(fate.Delay, p.longest))
	if fate.Hold {
		p.by.held = append(p.by.held, p)
		if p.longest == 0 {
			p.due = math.MaxInt64
		}
	}
	heap.Push(&q.waiting, p)
	if len(q.waiting) >= queueLength {
		q.overruns++ // the kernel lets further packets pass
	}
	if q.waiting[0] == p {
		q.awake()
	}
}

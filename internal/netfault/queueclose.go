//go:build linux

package netfault

import (
	"errors"
	"fmt"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// drainLimit bounds how long packets that are on their way to us are waited for
// when a queue is closed.
const drainLimit = time.Second

// close lets every waiting packet go and then stops listening. The rules are gone already.
// The kernel drops what is in the queue when its socket closes, so that is waited for.
func (q *queue) close() error {
	q.mu.Lock()
	q.closed = true
	q.release(nil, true)
	q.diversions = nil // what still comes passes
	q.mu.Unlock()
	q.resets.Wait()
	err := q.drain()
	q.cancel() // before Close, which waits for the goroutines of the context
	q.awake()
	<-q.done
	return errors.Join(err, q.free())
}

// free closes descriptors.
func (q *queue) free() error {
	q.cancel()
	err := q.nf.Close()
	for _, fd := range []int{q.raw, q.wake} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}

// nfqMessageNone is a message type that the kernel's packet queues do not have: theirs end below 16
// (linux/netfilter/nfnetlink_queue.h).
const nfqMessageNone = unix.NFNL_SUBSYS_QUEUE<<8 | 0x7f

// drain waits until every packet that the kernel has queued so far has reached arrive. It asks the
// kernel, on the queue's own socket, something that the kernel refuses at once with EINVAL. The
// refusal lies in the socket behind all packets, so it is read when they have been dealt with. The
// kernel also tells the queue's length in /proc, but there only some users may read it.
func (q *queue) drain() error {
	const again = 10 * time.Millisecond // a refusal is lost where the socket has no room for it
	limit := time.After(drainLimit)
	for {
		if err := q.echo(); err != nil {
			return fmt.Errorf("ask the packet queue whether it is empty: %w", err)
		}
		select {
		case <-q.echoed:
			return nil
		case <-limit:
			return fmt.Errorf("packets in the queue may be lost: the kernel did not hand them over within %v",
				drainLimit)
		case <-time.After(again):
		}
	}
}

// echo makes the kernel send a refusal, which failed sees.
func (q *queue) echo() error {
	// The time limit of the last verdict may be over.
	if err := q.nf.Con.SetWriteDeadline(time.Now().Add(kernelLimit)); err != nil {
		return err
	}
	_, err := q.nf.Con.Send(netlink.Message{
		Header: netlink.Header{Type: nfqMessageNone, Flags: netlink.Request},
		// struct nfgenmsg
		Data: []byte{unix.AF_INET, unix.NFNETLINK_V0, queueNumber >> 8, queueNumber & 0xff},
	})
	return err
}

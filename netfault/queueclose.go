package netfault

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/hosts"
	"golang.org/x/sys/unix"
)

// drainLimit bounds how long packets that are on their way to us are waited for when a queue is closed.
const drainLimit = time.Second

// close lets every waiting packet go and then stops listening. The rules are gone already. The kernel drops what is in the queue when
// its socket closes, so that is waited for.
func (q *queue) close() error {
	q.mu.Lock()
	q.closed = true
	q.release(nil, true)
	q.diversions = nil // what still comes passes
	q.mu.Unlock()
	q.resets.Wait()
	left, err := q.drain()
	q.cancel() // before Close, which waits for the goroutines of the context
	q.awake()
	<-q.done
	if left > 0 {
		err = errors.Join(err, fmt.Errorf("%d packets in the queue were lost: the kernel did not hand them over within %v", left, drainLimit))
	}
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

// drain waits until the kernel's queue is empty, and returns how many packets are left in it.
func (q *queue) drain() (left int, err error) {
	for end := time.Now().Add(drainLimit); ; time.Sleep(100 * time.Microsecond) {
		err := q.filter.host.Do(func() (err error) { left, err = queued(); return err })
		if errors.Is(err, hosts.ErrClosed) {
			return 0, nil // nobody is left who could miss them
		}
		if err != nil || left == 0 || time.Now().After(end) {
			return left, err
		}
	}
}

// queued reads how many packets are in our queue of the calling thread's namespace, those that wait for a verdict included.
func queued() (int, error) {
	const file = "/proc/thread-self/net/netfilter/nfnetlink_queue" // number, port, packets, …
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) > 2 && f[0] == strconv.Itoa(queueNumber) {
			return strconv.Atoi(f[2])
		}
	}
	return 0, nil // somebody has unbound it: nothing waits
}

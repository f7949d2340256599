//go:build linux

package netfault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

// Tap watches what a host and its servers say to each other, by TCP. It sees
// copies of the packets and holds none of them up. Out, it sees what has really
// left: behind the host's diversions. In, it sees what has arrived, before them.
type Tap struct {
	file    *os.File
	servers map[netip.Addr]bool

	mu     sync.Mutex
	fd     int // -1: closed
	talk   exchanged
	missed bool // packets of this call were not seen, or bear no stamp that can be trusted
	ahead  int64
	buffer []byte
	oob    []byte
}

// stepped is by how much the wall clock and the monotonic one may drift apart between two looks.
// The kernel stamps packets by the wall clock, so what was stamped around a step of it is not used.
const stepped = int64(time.Millisecond)

// OpenTap begins to watch. The tap ends with Close. The kernel may take some
// milliseconds until it stamps packets by itself. Until then they are stamped when
// they are read, so a call that begins at once may have bounds that are late.
func OpenTap(h *hosts.Host, servers ...netip.Addr) (*Tap, error) {
	t := &Tap{servers: map[netip.Addr]bool{}, fd: -1, buffer: make([]byte, math.MaxUint16+1), oob: make([]byte, 128)}
	for _, addr := range servers {
		t.servers[addr] = true
	}
	// Only a socket for all protocols sees what the host itself sends (packet(7)).
	all := int(uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8)
	err := h.Do(func() (err error) {
		t.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, all)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("watch the packets of host %s (CAP_NET_RAW?): %w", h.Name, err)
	}
	t.file = os.NewFile(uintptr(t.fd), "packets of "+h.Name)
	if err := unix.SetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return nil, errors.Join(fmt.Errorf("stamp the packets of host %s: %w", h.Name, err), t.file.Close())
	}
	conn, err := t.file.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch the packets of host %s: %w", h.Name, err), t.file.Close())
	}
	t.Begin()
	go func() {
		_ = conn.Read(func(uintptr) (over bool) { // until the file is closed
			t.mu.Lock()
			defer t.mu.Unlock()
			return !t.read()
		})
	}()
	return t, nil
}

// Begin begins a call: what came before is forgotten.
func (t *Tap) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read()
	_ = t.dropped()
	t.talk.begin(monotime.Now())
	t.missed = false
}

// End returns the bounds of the call that was begun last and ended at an
// instant. They are zero if a packet was missed.
func (t *Tap) End(at int64) Bounds {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.read() || t.dropped() || t.missed {
		return Bounds{}
	}
	b := t.talk.end(at)
	if b.Sent != 0 {
		b.Sent -= blur
	}
	if b.Came != 0 {
		b.Came += blur
	}
	return b
}

// Close ends the tap.
func (t *Tap) Close() error {
	t.mu.Lock()
	t.fd = -1
	t.mu.Unlock()
	return t.file.Close()
}

// read takes all packets that are there, and reports whether more may come. It
// is called with mu held.
func (t *Tap) read() bool {
	if t.fd < 0 {
		return false
	}
	ahead, ok := wallAhead()
	if !ok || t.ahead != 0 && max(ahead-t.ahead, t.ahead-ahead) > stepped {
		t.missed = true
	}
	t.ahead = ahead
	for {
		n, oobn, _, from, err := unix.Recvmsg(t.fd, t.buffer, t.oob, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return true
		case err != nil:
			t.missed = true
			return !errors.Is(err, unix.EBADF)
		default:
			t.take(t.buffer[:n], t.oob[:oobn], from)
		}
	}
}

// take takes one packet.
func (t *Tap) take(raw, oob []byte, from unix.Sockaddr) {
	link, ok := from.(*unix.SockaddrLinklayer)
	if !ok {
		return
	}
	dir := In
	if link.Pkttype == unix.PACKET_OUTGOING {
		dir = Out
	}
	p := parse(raw, dir, 0)
	if !t.servers[p.Connection().Peer.Addr()] {
		return
	}
	wall, ok := stampOf(oob)
	if !ok {
		t.missed = true
		return
	}
	p.At = wall - t.ahead
	t.talk.note(&p)
}

// dropped reports whether packets were lost since the last call, because they
// came faster than they were read.
func (t *Tap) dropped() bool {
	stats, err := unix.GetsockoptTpacketStats(t.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	return err != nil || stats.Drops > 0
}

// blur is by how much a stamp may be wrong that was made of the wall clock's.
const blur = int64(20 * time.Microsecond)

// wallAhead returns by how many ns the wall clock is ahead of the monotonic
// one, and whether they could be read within twice the blur of each other.
func wallAhead() (ahead int64, ok bool) {
	for range 5 { // another thread may have had the processor between two readings
		before := monotime.Now()
		wall := time.Now().UnixNano()
		after := monotime.Now()
		if ahead = wall - (before + (after-before)/2); after-before <= 2*blur {
			return ahead, true
		}
	}
	return ahead, false
}

// stampOf returns the kernel's stamp of a packet.
func stampOf(oob []byte) (wall int64, ok bool) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, false
	}
	for _, m := range messages {
		// two words, on every system that we build for
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16 {
			seconds, ns := binary.NativeEndian.Uint64(m.Data), binary.NativeEndian.Uint64(m.Data[8:])
			return int64(seconds)*int64(time.Second) + int64(ns), true
		}
	}
	return 0, false
}

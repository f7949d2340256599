//go:build linux

package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Host is one machine of the test: a network namespace with an address, and the
// processes in it. Safe for concurrent use.
//
// An OS thread lives in the namespace for as long as the host does; processes are forked on it. A
// socket stays in the namespace in which it was made, so it may be used from everywhere afterwards.
type Host struct {
	Name string
	Addr netip.Addr
	// NetNS is a descriptor of the network namespace, for libraries that take
	// one; valid until Close.
	NetNS int

	inode uint64 // of the namespace: /proc/PID/ns/net of the host's processes has the same
	link  int    // number of the bridge's end of the veth pair; 0: none
	jobs  chan func()
	guest bool // the host was there before us, and stays
	ways  map[netip.AddrPort]netip.AddrPort
	// tenants are the processes on a guest whose host we are that are not ours;
	// nil: all are somebody else's.
	tenants map[int]bool
	closed  chan struct{} // closed by Close: no new job is taken
	gone    chan struct{} // closed when the thread has done its last job
	// fd guards NetNS against being closed while a thread enters the namespace.
	fd    sync.RWMutex
	once  sync.Once
	ended error
}

// farLink is what a host calls its own end of the veth pair.
const farLink = "eth0"

func newHost(name string, addr netip.Addr, link string, bits int, bridge *netlink.Bridge) (*Host, error) {
	h := &Host{Name: name, Addr: addr, NetNS: -1, jobs: make(chan func()), closed: make(chan struct{}),
		gone: make(chan struct{})}
	ready := make(chan error)
	aside(func() { h.live(fresh, ready) })
	if err := <-ready; err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if err := h.join(link, bits, bridge); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// live is the host's thread; enter brings it into the host's namespace.
func (h *Host) live(enter func() error, ready chan<- error) {
	defer close(h.gone)
	err := enter()
	if err == nil {
		err = h.settle()
	}
	ready <- err
	if err != nil {
		return
	}
	for {
		select {
		case job := <-h.jobs:
			job()
		case <-h.closed:
			return
		}
	}
}

// fresh gives the calling thread a network namespace of its own.
func fresh() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("new network namespace: %w", err)
	}
	quiet()
	return up("lo")
}

// settle makes the calling thread, and the namespace that it is in, the host's.
func (h *Host) settle() error {
	if err := bequeathNothing(); err != nil {
		return err
	}
	// Not /proc/self: that is the program's first thread.
	const own = "/proc/thread-self/ns/net"
	fd, err := unix.Open(own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", own, err)
	}
	h.NetNS = fd
	h.inode, err = inode(own)
	return err
}

// bequeathNothing keeps the calling thread's capabilities from what it forks: it empties the
// inheritable set, and with that the ambient one; and uid 0, which an agent is, brings none either.
func bequeathNothing() error {
	if unix.Geteuid() == 0 {
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureNoRoot, 0, 0, 0); err != nil {
			return fmt.Errorf("make uid 0 an ordinary one for the host's processes: %w", err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // 32 capabilities each
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	for i := range sets {
		sets[i].Inheritable = 0
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop inheritable capabilities: %w", err)
	}
	return nil
}

// secureNoRoot is SECBIT_NOROOT of capabilities(7): a program that uid 0 starts
// gets no capability for that. It holds for a thread and what it forks.
const secureNoRoot = 1 << 0

// leftLinkLimit is how long removing the link of a killed run is tried, and linkPoll how often.
const (
	leftLinkLimit = 30 * time.Second
	linkPoll      = 50 * time.Millisecond
)

// join makes the veth pair: its end at the bridge gets a name, and the host's end its address.
func (h *Host) join(name string, bits int, bridge *netlink.Bridge) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	attrs.MasterIndex = bridge.Index
	attrs.Flags = net.FlagUp
	pair := &netlink.Veth{
		LinkAttrs:        attrs,
		PeerName:         farLink,
		PeerHardwareAddr: linkAddr(h.Addr),
		PeerNamespace:    netlink.NsFd(h.NetNS),
	}
	err := netlink.LinkAdd(pair)
	// The link of a run that was killed goes with its namespace, for which a kernel with much to do
	// may take a minute. Until then somebody answers there who has this host's address.
	for began := time.Now(); errors.Is(err, unix.EEXIST) &&
		time.Since(began) < leftLinkLimit; err = netlink.LinkAdd(pair) {
		removeLink(netlink.LinkByName(name))
		time.Sleep(linkPoll)
	}
	if err != nil {
		return fmt.Errorf("add veth pair %s (kernel module veth?): %w", attrs.Name, err)
	}
	h.link = pair.Index
	return h.Do(func() error {
		eth0, err := netlink.LinkByName(farLink)
		if err != nil {
			return fmt.Errorf("find link %s: %w", farLink, err)
		}
		return address(eth0, netip.PrefixFrom(h.Addr, bits))
	})
}

// links numbers the links that this process has made.
var links atomic.Uint32

// linkName names the bridge's end of a host's veth pair, in the 15 letters that an interface may
// have: networks that live at the same time never overlap, so the address tells them apart.
func linkName(addr netip.Addr) string {
	b := addr.As4()
	return fmt.Sprintf("lc-%02x%02x%02x%02x", b[0], b[1], b[2], b[3])
}

// lingering makes a link's name one of its own: the link of a network that was closed
// goes a moment later, and its address may be used again by then.
func lingering(name string) string { return fmt.Sprintf("%s-%x", name, links.Add(1)%0x1000) }

// removeLink removes a link that was found, at once: with its namespace it would go a moment later.
func removeLink(link netlink.Link, err error) {
	if err == nil {
		_ = netlink.LinkDel(link) // gone already: just as well
	}
}

// linked reports whether both ends of the veth pair are up.
func (h *Host) linked() (bool, error) {
	if h.guest {
		return true, nil
	}
	near, err := raised(netlink.LinkByIndex(h.link))
	if err != nil || !near {
		return false, err
	}
	var far bool
	err = h.Do(func() (err error) { far, err = raised(netlink.LinkByName(farLink)); return err })
	return far, err
}

func raised(link netlink.Link, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("find a host's link: %w", err)
	}
	return link.Attrs().OperState == netlink.OperUp, nil
}

// Do runs fn on the host's thread and returns its error. Calls run one after
// another, starts of processes among them: fn should be short. It must not call Do
// or Start of this host, and what a goroutine of its own opens, it opens elsewhere.
func (h *Host) Do(fn func() error) error {
	done := make(chan error, 1)
	select {
	case h.jobs <- func() { done <- fn() }:
		return <-done
	case <-h.closed:
		return fmt.Errorf("host %s: %w", h.Name, ErrClosed)
	}
}

// visit runs fn on a thread of its own in the host's namespace: unlike Do, fn
// may wait without holding up the host.
func (h *Host) visit(fn func() error) error {
	done := make(chan error, 1)
	aside(func() {
		if err := h.setns(); err != nil {
			done <- fmt.Errorf("enter host %s: %w", h.Name, err)
			return
		}
		done <- fn()
	})
	return <-done
}

func (h *Host) setns() error {
	h.fd.RLock()
	defer h.fd.RUnlock()
	if h.NetNS < 0 {
		return ErrClosed
	}
	return unix.Setns(h.NetNS, unix.CLONE_NEWNET)
}

// Dial connects from the host, without a process on it. The address must be
// literal: there is nobody to look a name up.
func (h *Host) Dial(ctx context.Context, network string, to netip.AddrPort) (conn net.Conn, err error) {
	err = h.visit(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, to.String())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dial from host %s: %w", h.Name, err)
	}
	return conn, nil
}

// Listen listens for TCP connections on the host, without a process on it. Port 0 chooses one.
func (h *Host) Listen(port uint16) (l net.Listener, err error) {
	err = h.visit(func() (err error) {
		l, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(h.Addr, port)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on host %s: %w", h.Name, err)
	}
	return l, nil
}

// PIDs returns every process on the host in rising order, also those that left
// their group and session: a process belongs to the host whose network
// namespace it lives in. Zombies are not counted.
func (h *Host) PIDs() ([]int, error) {
	return processes(func(pid int) bool {
		ino, err := inode(fmt.Sprintf("/proc/%d/ns/net", pid))
		return err == nil && ino == h.inode && !h.tenants[pid]
	})
}

// closeLimit bounds how long Close waits for the host's thread and for killed processes to
// be gone: a machine that writes much to its disk may take many seconds to end a process.
const closeLimit = time.Minute

// Close kills every process on the host and takes the host off the network; from
// an attached host it only lets go. A second call returns what the first did.
func (h *Host) Close() error {
	h.once.Do(func() { h.ended = h.close(true) })
	return h.ended
}

// close ends the host. Unlinking takes some 40 ms; who removes the whole network need not.
func (h *Host) close(unlink bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	close(h.closed)
	var errs []error
	select {
	case <-h.gone:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("close host %s: its thread is still at work", h.Name))
	}
	if !h.guest || h.tenants != nil {
		if err := h.killAll(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close host %s: %w", h.Name, err))
		}
	}
	if unlink && h.link != 0 { // by its number: another's may have the name by now
		removeLink(netlink.LinkByIndex(h.link))
	}
	h.fd.Lock()
	defer h.fd.Unlock()
	if h.NetNS >= 0 {
		_ = unix.Close(h.NetNS)
		h.NetNS = -1
	}
	return errors.Join(errs...)
}

// Kill kills every process on the host, whatever group or session it made for
// itself, and returns when none is left. That there was none is no error.
func (h *Host) Kill(ctx context.Context) error {
	if err := h.killAll(ctx); err != nil {
		return fmt.Errorf("kill what runs on host %s: %w", h.Name, err)
	}
	return nil
}

// killAll kills whatever lives on the host, until nothing does.
func (h *Host) killAll(ctx context.Context) error {
	for {
		pids, err := h.PIDs()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes %v outlive SIGKILL: %w", pids, ctx.Err())
		case <-time.After(awaitStep):
		}
	}
}

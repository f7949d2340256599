package netfault

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// classMajor is the handle of our root queueing discipline; leftovers are known by it.
const classMajor = 0x1cc0

// A discipline is a queueing discipline, in the kernel or to be made; a leaf makes one under a class.
type (
	discipline = netlink.Qdisc
	leaf       func(netlink.QdiscAttrs) discipline
)

// classes are queueing disciplines for what a host sends to some peers, on one of its links: an HTB root without any bound of its own, and under
// it a class for each fault, with the discipline that does something. Rules of the packet filter choose the class, so that they match and count
// as they do for every other fault; what no rule chooses passes by.
type classes struct {
	route *netlink.Handle
	link  netlink.Link
	minor uint16
}

// openClasses makes the root on the link over which the host reaches the peer.
func openClasses(fd int, peer netip.Addr) (*classes, error) {
	route, err := netlink.NewHandleAt(netns.NsHandle(fd), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink: %w", err)
	}
	if err := route.SetSocketTimeout(kernelLimit); err != nil {
		route.Close()
		return nil, fmt.Errorf("open rtnetlink: %w", err)
	}
	c := &classes{route: route}
	if c.link, err = linkTo(route, peer); err != nil {
		route.Close()
		return nil, err
	}
	root := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: c.link.Attrs().Index, Handle: netlink.MakeHandle(classMajor, 0), Parent: netlink.HANDLE_ROOT})
	if err := route.QdiscAdd(root); err != nil {
		route.Close()
		return nil, fmt.Errorf("add queueing discipline htb to link %s (kernel module sch_htb?): %w", c.link.Attrs().Name, err)
	}
	return c, nil
}

func linkTo(route *netlink.Handle, peer netip.Addr) (netlink.Link, error) {
	routes, err := route.RouteGet(peer.Unmap().AsSlice())
	if err != nil || len(routes) == 0 {
		return nil, fmt.Errorf("find the route to %s: %w", peer, errors.Join(err, unix.ENETUNREACH))
	}
	link, err := route.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return nil, fmt.Errorf("find the link to %s: %w", peer, err)
	}
	return link, nil
}

// reaches tells whether the peer is behind the link.
func (c *classes) reaches(peer netip.Addr) bool {
	link, err := linkTo(c.route, peer)
	return err == nil && link.Attrs().Index == c.link.Attrs().Index
}

// add makes a class and its discipline, and returns the number by which rules choose it.
func (c *classes) add(leaf leaf) (class uint32, q discipline, err error) {
	c.minor++
	index := c.link.Attrs().Index
	class = netlink.MakeHandle(classMajor, c.minor)
	const unbounded = 100e9 // bits a second
	err = c.route.ClassAdd(netlink.NewHtbClass(
		netlink.ClassAttrs{LinkIndex: index, Parent: netlink.MakeHandle(classMajor, 0), Handle: class},
		netlink.HtbClassAttrs{Rate: unbounded, Ceil: unbounded, Buffer: 1 << 20, Cbuffer: 1 << 20, Quantum: 1 << 16}))
	if err != nil {
		return 0, nil, fmt.Errorf("add class %d to link %s: %w", c.minor, c.link.Attrs().Name, err)
	}
	q = leaf(netlink.QdiscAttrs{LinkIndex: index, Parent: class, Handle: netlink.MakeHandle(classMajor+c.minor, 0)})
	if err := c.route.QdiscAdd(q); err != nil {
		return 0, nil, errors.Join(fmt.Errorf("add queueing discipline %s to link %s (kernel module sch_%s?): %w", q.Type(), c.link.Attrs().Name, q.Type(), err),
			c.remove(class))
	}
	return class, q, nil
}

// found returns the discipline under a class, as the kernel describes it.
func (c *classes) found(class uint32) (discipline, error) {
	all, err := c.route.QdiscList(c.link)
	if err != nil {
		return nil, fmt.Errorf("list the queueing disciplines of link %s: %w", c.link.Attrs().Name, err)
	}
	for _, q := range all {
		if q.Attrs().Parent == class {
			return q, nil
		}
	}
	return nil, fmt.Errorf("link %s has no queueing discipline under class %x", c.link.Attrs().Name, class)
}

// remove takes a class away. What waits in it is lost, as in a cable that is cut.
func (c *classes) remove(class uint32) error {
	attrs := netlink.ClassAttrs{LinkIndex: c.link.Attrs().Index, Parent: netlink.MakeHandle(classMajor, 0), Handle: class}
	if err := c.route.ClassDel(&netlink.HtbClass{ClassAttrs: attrs}); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove class %x of link %s: %w", class, c.link.Attrs().Name, err)
	}
	return nil
}

// close takes the root away.
func (c *classes) close() error {
	defer c.route.Close()
	err := c.route.QdiscDel(&netlink.Htb{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: c.link.Attrs().Index, Handle: netlink.MakeHandle(classMajor, 0), Parent: netlink.HANDLE_ROOT}})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) { // the link is gone, or its root
		return nil
	}
	return err
}

// sweepClasses removes what is left of us in a network namespace.
func sweepClasses(fd int) (found bool, err error) {
	route, err := netlink.NewHandleAt(netns.NsHandle(fd), unix.NETLINK_ROUTE)
	if err != nil {
		return false, fmt.Errorf("sweep: open rtnetlink: %w", err)
	}
	defer route.Close()
	links, err := route.LinkList()
	if err != nil {
		return false, fmt.Errorf("sweep: list links: %w", err)
	}
	for _, link := range links {
		disciplines, err := route.QdiscList(link)
		if err != nil {
			return found, fmt.Errorf("sweep: list the queueing disciplines of link %s: %w", link.Attrs().Name, err)
		}
		for _, q := range disciplines {
			if q.Attrs().Handle != netlink.MakeHandle(classMajor, 0) {
				continue
			}
			if err := route.QdiscDel(q); err != nil {
				return found, fmt.Errorf("sweep: remove the queueing discipline of link %s: %w", link.Attrs().Name, err)
			}
			found = true
		}
	}
	return found, nil
}

// netem is the discipline of the same conditions (tc-netem(8)).
func netem(c Conditions) leaf {
	return func(attrs netlink.QdiscAttrs) discipline {
		limit := uint32(queueLength)
		if c.Rate > 0 {
			limit = backlog / 1500
		}
		return netlink.NewNetem(attrs, netlink.NetemQdiscAttrs{
			Latency: uint32(c.Delay / time.Microsecond), Jitter: uint32(c.Jitter / time.Microsecond), Limit: limit,
			Loss: float32(100 * c.Loss), Duplicate: float32(100 * c.Duplicate), ReorderProb: float32(100 * c.Reorder), Rate64: uint64(c.Rate),
		})
	}
}

// sameDiscipline says where the kernel's account of a discipline differs from what was asked for.
func sameDiscipline(asked, got discipline) error {
	if asked.Type() != got.Type() {
		return fmt.Errorf("asked for %s, the kernel has %s", asked.Type(), got.Type())
	}
	want, ok := asked.(*netlink.Netem)
	if !ok {
		return nil
	}
	have := got.(*netlink.Netem)
	if want.Latency != have.Latency || want.Jitter != have.Jitter || want.Loss != have.Loss || want.Duplicate != have.Duplicate ||
		want.ReorderProb != have.ReorderProb || want.Rate64 != have.Rate64 || want.Limit != have.Limit {
		return fmt.Errorf("asked for %+v, the kernel has %+v", *want, *have)
	}
	return nil
}

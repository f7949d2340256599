package netfault

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/hosts/hoststest"
	"github.com/lockchaos/lockchaos/monotime"
	"github.com/vishvananda/netlink"
)

// disciplines counts the queueing disciplines of ours in a namespace.
func disciplines(t testing.TB, c *classes) (n int) {
	t.Helper()
	for _, q := range must[[]netlink.Qdisc](t)(c.route.QdiscList(c.link)) {
		if major, _ := netlink.MajorMinor(q.Attrs().Handle); major >= classMajor && major < classMajor+100 {
			n++
		}
	}
	return n
}

// What netem does is done by a discipline under a class that rules choose. That way is tried with a token bucket, which more kernels have: it slows
// down what goes to one peer and nothing else, its packets are counted, and healing takes everything away.
func TestClasses(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b", "c")
	a, b, c := mailbox(t, hs[0]), mailbox(t, hs[1]), mailbox(t, hs[2])
	f := open(t, hs[0])
	const rate, n, size = 100_000, 10, 1000 + 28 + 14 // bytes; link headers count
	bucket := func(attrs netlink.QdiscAttrs) discipline {
		return &netlink.Tbf{QdiscAttrs: attrs, Rate: rate, Limit: 1 << 20, Buffer: uint32(netlink.Xmittime(rate, 2*size))}
	}
	d := &Degradation{}
	err := f.degradeInKernel(d, "slow", bucket, []Match{{Dir: Out, Peer: hs[1].Addr}})
	if err != nil && strings.Contains(err.Error(), "kernel module") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := must[discipline](t)(f.classes.found(d.class))
	if found.Type() != "tbf" || disciplines(t, f.classes) != 2 {
		t.Errorf("%d disciplines, under the class %v", disciplines(t, f.classes), found)
	}
	begun := monotime.Now()
	for range n {
		send(t, a, hs[1], strings.Repeat("x", 1000))
	}
	send(t, a, hs[2], "other")
	receive(t, c)
	if s := must[Stats](t)(d.Stats()); s.Seen != n {
		t.Errorf("evidence: %v", s)
	}
	for range n {
		receive(t, b)
	}
	if took, least := monotime.Since(begun), time.Second*(n-3)*size/rate; took < least {
		t.Errorf("%d packets took %v, want %v at least", n, took, least)
	}
	more := &Degradation{}
	if err := f.degradeInKernel(more, "also slow", bucket, []Match{{Dir: Out, Peer: hs[2].Addr}}); err != nil {
		t.Fatal(err)
	}
	links := f.classes
	for _, d := range []*Degradation{d, more, d} {
		must[Stats](t)(d.Remove())
	}
	if f.classes != nil {
		t.Error("healed, and the root is still there")
	}
	send(t, a, hs[1], "healed")
	if got := receive(t, b); got != "healed" {
		t.Errorf("received %q", got)
	}
	again := must[*classes](t)(openClasses(hs[0].NetNS, hs[1].Addr))
	if n := disciplines(t, again); n != 1 || links.minor != 2 {
		t.Errorf("%d disciplines besides, want the new root alone", n)
	}
	again.route.Close() // as a kill does
	for _, want := range []bool{true, false} {
		if found, err := Sweep(hs[0].NetNS); err != nil || found != want {
			t.Errorf("sweep: %v, %v; want %v", found, err, want)
		}
	}
}

// Where the kernel has netem it is taken, and degrades; else user space does the same, and says why.
func TestDegradeChooses(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b := mailbox(t, hs[0]), mailbox(t, hs[1])
	f := open(t, hs[0])
	const delay = 20 * time.Millisecond
	d := must[*Degradation](t)(f.Degrade("delay", Auto, Conditions{Delay: delay}, seeded(), Match{Dir: Out, Peer: hs[1].Addr}))
	t.Logf("by %s: %s", d.Means, d.Why)
	if (d.Means == Netem) != (d.Why == "") {
		t.Errorf("by %s: %q", d.Means, d.Why)
	}
	begun := monotime.Now()
	send(t, a, hs[1], "late")
	receive(t, b)
	if took := monotime.Since(begun); took < delay {
		t.Errorf("took %v", took)
	}
	if s := must[Stats](t)(d.Remove()); s.Seen != 1 {
		t.Errorf("evidence: %v", s)
	}
	if f.classes != nil {
		t.Error("the root is left")
	}
	for _, c := range []struct {
		match Match
		want  string
	}{{Match{Peer: hs[1].Addr}, "outgoing packets only"}, {Match{Dir: Out}, "needs a peer"}} {
		_, err := f.Degrade("delay", Netem, Conditions{Delay: delay}, seeded(), c.match)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		d := must[*Degradation](t)(f.Degrade("delay", Auto, Conditions{Delay: delay}, seeded(), c.match))
		if d.Means != Queued || !strings.Contains(d.Why, c.want) {
			t.Errorf("by %s: %q", d.Means, d.Why)
		}
	}
}

// The kernel's account of a netem must be what was asked for: a kernel that ignores a part of it would make a fault that is none.
func TestSameDiscipline(t *testing.T) {
	c := Conditions{Delay: 100 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .1, Duplicate: .2, Reorder: .3, Rate: 1000}
	asked := netem(c)(netlink.QdiscAttrs{}).(*netlink.Netem)
	if asked.Latency == 0 || asked.Jitter == 0 || asked.Gap != 1 || asked.Limit != 1000 || asked.Rate64 != 1000 {
		t.Errorf("%+v", *asked)
	}
	if err := sameDiscipline(asked, netem(c)(netlink.QdiscAttrs{})); err != nil {
		t.Error(err)
	}
	for _, other := range []Conditions{
		{Delay: c.Delay, Jitter: c.Jitter, Loss: c.Loss, Duplicate: c.Duplicate, Reorder: c.Reorder},
		{Delay: 1, Jitter: c.Jitter, Loss: c.Loss, Duplicate: c.Duplicate, Reorder: c.Reorder, Rate: c.Rate},
		{Delay: c.Delay, Jitter: c.Jitter, Loss: c.Loss, Duplicate: c.Duplicate, Rate: c.Rate},
	} {
		if sameDiscipline(asked, netem(other)(netlink.QdiscAttrs{})) == nil {
			t.Errorf("%+v is taken for %+v", other, c)
		}
	}
	if sameDiscipline(asked, &netlink.Tbf{}) == nil {
		t.Error("a token bucket is taken for netem")
	}
}

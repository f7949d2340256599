//go:build linux

package netfault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"golang.org/x/sys/unix"
)

// ErrClosed says that the filter has been closed: its faults are healed.
var ErrClosed = errors.New("the packet filter is closed")

// Filter breaks the network of one host. There is at most one for a host at a
// time. Safe for concurrent use.
type Filter struct {
	host *hosts.Host
	stop func() bool // of watching the context
	once sync.Once
	err  error // of Close

	mu     sync.Mutex
	table  *table
	queue  *queue  // nil until something is diverted
	compat bool    // this kernel has no native queue expression
	rules  []*Rule // those not removed
	next   int     // number of the next rule
	closed bool
}

// Open makes the packet filter of a host, without any fault. When ctx ends,
// everything is healed as by Close.
func Open(ctx context.Context, h *hosts.Host) (*Filter, error) { return openAt(ctx, h, ends) }

// OpenGateway is Open for a host that also forwards: its faults meet what
// passes through it, too, where it is sent to by then.
func OpenGateway(ctx context.Context, h *hosts.Host) (*Filter, error) { return openAt(ctx, h, gateway) }

func openAt(ctx context.Context, h *hosts.Host, at hooks) (*Filter, error) {
	err := ctx.Err()
	var t *table
	if err == nil {
		t, err = openTable(h.NetNS, at)
	}
	if err != nil {
		return nil, fmt.Errorf("packet filter of host %s: %w", h.Name, err)
	}
	f := &Filter{host: h, table: t}
	f.mu.Lock() // ctx may end at once
	defer f.mu.Unlock()
	f.stop = context.AfterFunc(ctx, func() { _ = f.Close() }) // who closes it again gets the error
	return f, nil
}

// Host returns the host that the filter is of.
func (f *Filter) Host() *hosts.Host { return f.host }

// Outlived reports whether the rules would stay when this program is killed and
// the network namespace lives on, as a container's does: that is so on kernels
// before Linux 5.12. Sweep removes them.
func (f *Filter) Outlived() bool { return !f.table.owned }

// Count is the evidence of a rule: what it has met.
type Count struct {
	Match   Match
	Packets uint64
	Bytes   uint64 // from the IP header on
}

// Rule is a fault that the kernel carries out by itself.
type Rule struct {
	filter  *Filter
	tag     string
	prefix  string // of the comments of its rules in the kernel
	chains  []*nftables.Chain
	removed bool
	counts  []Count
}

// Drop cuts: every packet that matches is gone. All matches go in as one transaction. On the way
// in (In) it looks like a dead network to both ends; on the way out a sender of datagrams is
// told (EPERM), so prefer the receiver's side. The tag names the fault in messages and listings.
func (f *Filter) Drop(tag string, matches ...Match) (*Rule, error) {
	return f.add(tag, "cut", matches, &expr.Verdict{Kind: expr.VerdictDrop})
}

// Reject answers every TCP segment that matches with a RST to its sender, and
// drops it: connections break, new ones are refused. Other packets are left alone.
func (f *Filter) Reject(tag string, matches ...Match) (*Rule, error) {
	return f.add(tag, "reject", matches, &expr.Reject{Type: unix.NFT_REJECT_TCP_RST})
}

// add puts a rule for each match into the chains that cut.
func (f *Filter) add(tag, what string, matches []Match, action expr.Any) (*Rule, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.insert(tag, matches, func(d Direction) *nftables.Chain { return f.table.cut[d] },
		func(m Match) []expr.Any {
			exprs := m.exprs()
			if _, rejects := action.(*expr.Reject); rejects && m.Port == 0 && m.PeerPort == 0 {
				exprs = append(exprs, onlyTCP()...)
			}
			return append(exprs, &expr.Counter{}, action)
		})
	if err != nil {
		return nil, f.failed(what, tag, err)
	}
	return r, nil
}

func (f *Filter) failed(what, tag string, err error) error {
	return fmt.Errorf("%s %s on host %s: %w", what, tag, f.host.Name, err)
}

// insert is called with mu held.
func (f *Filter) insert(tag string, matches []Match, chain func(Direction) *nftables.Chain,
	exprs func(Match) []expr.Any) (*Rule, error) {
	if f.closed {
		return nil, ErrClosed
	}
	if len(matches) == 0 {
		return nil, errors.New("no packets are matched: nothing would happen")
	}
	f.next++
	const longest = 80 // a comment may have 128 bytes
	r := &Rule{filter: f, tag: tag, prefix: fmt.Sprintf("%d.", f.next)}
	for _, m := range matches {
		if err := m.valid(); err != nil {
			return nil, err
		}
		r.counts = append(r.counts, Count{Match: m})
		if c := chain(m.Dir); !slices.Contains(r.chains, c) {
			r.chains = append(r.chains, c)
		}
	}
	for i, m := range matches {
		f.table.add(chain(m.Dir), fmt.Sprintf("%s%d %.*s", r.prefix, i, longest, tag), exprs(m)...)
	}
	if err := f.table.commit("add rules"); err != nil {
		return nil, err
	}
	f.rules = append(f.rules, r)
	return r, nil
}

// Counts returns what the rule has met so far, a count for each match in their order.
func (r *Rule) Counts() ([]Count, error) {
	f := r.filter
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := r.read(nil); err != nil {
		return nil, f.failed("count", r.tag, err)
	}
	return slices.Clone(r.counts), nil
}

// Remove heals: it takes the rule away and returns what it has met at least. A
// second call returns the same again.
func (r *Rule) Remove() ([]Count, error) {
	f := r.filter
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := r.remove(); err != nil {
		return nil, f.failed("heal", r.tag, err)
	}
	return slices.Clone(r.counts), nil
}

// remove is called with mu held. The kernel does not tell the handle of a new
// rule, so the chains are listed to find it; the counters come along.
func (r *Rule) remove() error {
	if r.removed {
		return nil
	}
	t := r.filter.table
	if err := r.read(func(found *nftables.Rule) error { return t.conn.DelRule(found) }); err != nil {
		return err
	}
	if err := t.commit("remove rules"); err != nil {
		return err
	}
	r.removed = true
	r.filter.rules = slices.DeleteFunc(r.filter.rules, func(other *Rule) bool { return other == r })
	return nil
}

// read brings the counts up to date. It is called with mu held.
func (r *Rule) read(also func(*nftables.Rule) error) error {
	if r.removed {
		return nil
	}
	found := 0
	err := r.filter.table.each(r.chains, r.prefix, func(comment string, rule *nftables.Rule, met Count) error {
		var i int
		if _, err := fmt.Sscanf(comment[len(r.prefix):], "%d", &i); err != nil || i >= len(r.counts) {
			return fmt.Errorf("unexpected rule %q", comment)
		}
		found++
		r.counts[i].Packets, r.counts[i].Bytes = met.Packets, met.Bytes
		if also == nil {
			return nil
		}
		return also(rule)
	})
	if err == nil && found != len(r.counts) {
		return fmt.Errorf("%d of %d rules are there: somebody else has removed the others", found, len(r.counts))
	}
	return err
}

// Total adds up counts.
func Total(counts []Count) (packets, bytes uint64) {
	for _, c := range counts {
		packets, bytes = packets+c.Packets, bytes+c.Bytes
	}
	return packets, bytes
}

// Close heals everything: rules are removed, with their counters read, packets
// that wait are let go. A second call returns what the first did.
func (f *Filter) Close() error {
	f.once.Do(func() {
		if err := f.close(); err != nil {
			f.err = fmt.Errorf("close the packet filter of host %s: %w", f.host.Name, err)
		}
	})
	return f.err
}

func (f *Filter) close() error {
	f.mu.Lock()
	f.stop()
	f.closed = true
	var errs []error
	for len(f.rules) > 0 {
		r := f.rules[0]
		if err := r.remove(); err != nil {
			errs = append(errs, err) // the table goes all the same
			r.removed, f.rules = true, f.rules[1:]
		}
	}
	q := f.queue
	f.mu.Unlock()
	if q != nil {
		errs = append(errs, q.close())
	}
	return errors.Join(append(errs, f.table.close())...)
}

package netfault

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Partition is a set of cuts that are in place.
type Partition struct {
	rules []placed
	// From is when the last cut was in place (monotime.Now stamp).
	From int64
	to   int64
}

type placed struct {
	cut  Cut
	rule *Rule
}

// Peer is a host as a partition needs it.
type Peer struct {
	Addr netip.Addr
	// nil where the host is not ours to change: its cuts are then made on the other side
	Filter *Filter
}

// StartPartition puts cuts in place, each on the host that it leads to, or on the one that it
// comes from where the other has no filter. One host is changed after the other, within a fraction
// of a millisecond each; until From the partition is incomplete. If it fails, nothing of it stays.
func StartPartition(tag string, cuts []Cut, hosts map[string]Peer) (*Partition, error) {
	if len(cuts) == 0 {
		return nil, fmt.Errorf("partition %s: no cut is asked for: too few hosts for its shape?", tag)
	}
	p := &Partition{}
	for _, c := range cuts {
		rule, err := place(tag, c, hosts)
		if err != nil {
			_, healing := p.Heal()
			return nil, errors.Join(fmt.Errorf("partition %s: %w", tag, err), healing)
		}
		p.rules = append(p.rules, placed{c, rule})
	}
	p.From = monotime.Now()
	return p, nil
}

func place(tag string, c Cut, hosts map[string]Peer) (*Rule, error) {
	from, to := hosts[c.From], hosts[c.To]
	switch {
	case !from.Addr.IsValid() || !to.Addr.IsValid():
		return nil, fmt.Errorf("cut %s → %s: no address is known of one of them", c.From, c.To)
	case to.Filter != nil:
		return to.Filter.Drop(tag, Match{Dir: In, Peer: from.Addr})
	case from.Filter != nil:
		return from.Filter.Drop(tag, Match{Dir: Out, Peer: to.Addr})
	}
	return nil, fmt.Errorf("cut %s → %s: neither host has a packet filter of ours", c.From, c.To)
}

// CutCount is the evidence of a cut: what it has dropped.
type CutCount struct {
	Cut
	Packets, Bytes uint64
}

// Severed is the evidence of a partition.
type Severed struct {
	From, To int64 // bounds of the time through which all cuts were in place (monotime.Now stamps)
	Cuts     []CutCount
}

// Packets is how many packets all cuts have dropped.
func (s Severed) Packets() (n uint64) {
	for _, c := range s.Cuts {
		n += c.Packets
	}
	return n
}

// String is of the form "31 packets dropped: c1 → redis-1 31, redis-1 → c1 0".
func (s Severed) String() string {
	var each []string
	for _, c := range s.Cuts {
		each = append(each, fmt.Sprintf("%s → %s %d", c.From, c.To, c.Packets))
	}
	return fmt.Sprintf("%d packets dropped: %s", s.Packets(), strings.Join(each, ", "))
}

// Heal takes every cut away and returns what each has dropped. A second call
// returns the same again.
func (p *Partition) Heal() (Severed, error) {
	if p.to == 0 {
		p.to = monotime.Now()
	}
	s := Severed{From: p.From, To: p.to}
	var errs []error
	for _, r := range p.rules {
		counts, err := r.rule.Remove()
		errs = append(errs, err)
		packets, bytes := Total(counts)
		s.Cuts = append(s.Cuts, CutCount{r.cut, packets, bytes})
	}
	return s, errors.Join(errs...)
}

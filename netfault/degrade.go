package netfault

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
)

// Means is by what a network is degraded.
type Means string

// The means.
const (
	Auto   Means = ""      // netem where it serves, else user space
	Netem  Means = "netem" // the kernel's emulator: cheap, outgoing packets to a named peer only; its random numbers have no seed
	Queued Means = "queue" // this program, packet by packet: everywhere, with seeded random numbers; costs 20 µs a packet
)

// Degradation is a degraded network.
type Degradation struct {
	Means Means
	Why   string // why netem does not serve; empty where it does or was not asked for

	diversion *Diversion // Queued
	rule      *Rule      // Netem
	class     uint32
}

// Degrade makes the conditions of a bad network for all packets that match. The generator belongs to the fault from then on. Packets of
// all matches share one line where the rate is bounded; use a fault for each direction if each is to have its own.
func (f *Filter) Degrade(tag string, by Means, c Conditions, rng *rand.Rand, matches ...Match) (*Degradation, error) {
	err := c.Validate()
	for _, m := range matches {
		if m.Dir == In && c.Duplicate > 0 {
			err = errors.Join(err, fmt.Errorf("match %s: packets can be duplicated on the sender's side only", m))
		}
	}
	if err != nil {
		return nil, f.failed("degrade", tag, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d := &Degradation{Means: Queued}
	if by != Queued {
		err := f.degradeInKernel(d, tag, netem(c), matches)
		if err == nil {
			return d, nil
		}
		if by == Netem {
			return nil, f.failed("degrade by netem", tag, err)
		}
		d.Why = err.Error()
	}
	if d.diversion, err = f.divert(tag, Degrade(c, rng), matches); err != nil {
		return nil, f.failed("degrade", tag, err)
	}
	return d, nil
}

// degradeInKernel is called with mu held.
func (f *Filter) degradeInKernel(d *Degradation, tag string, leaf leaf, matches []Match) error {
	for _, m := range matches {
		switch {
		case m.Dir == In:
			return errors.New("netem serves outgoing packets only")
		case !m.Peer.IsValid():
			return errors.New("netem needs a peer, whose link it goes to")
		case f.classes != nil && !f.classes.reaches(m.Peer):
			return fmt.Errorf("netem is on link %s, and %s is behind another", f.classes.link.Attrs().Name, m.Peer)
		case f.closed:
			return ErrClosed
		}
		if f.classes == nil {
			c, err := openClasses(f.host.NetNS, m.Peer)
			if err != nil {
				return err
			}
			f.classes = c
		}
	}
	class, asked, err := f.classes.add(leaf)
	if err == nil {
		d.rule, err = f.choose(tag, class, asked, matches)
	}
	if err != nil {
		return errors.Join(err, f.tidyClasses(class))
	}
	d.Means, d.class = Netem, class
	f.inClasses++
	return nil
}

// choose sends the packets that match to a class, once the kernel confirms that it is as it was asked for.
func (f *Filter) choose(tag string, class uint32, asked discipline, matches []Match) (*Rule, error) {
	got, err := f.classes.found(class)
	if err != nil {
		return nil, err
	}
	if err := sameDiscipline(asked, got); err != nil {
		return nil, err
	}
	return f.insert(tag, matches, func(d Direction) *nftables.Chain { return f.table.divert[d] }, func(m Match) []expr.Any {
		return append(m.exprs(), &expr.Counter{},
			&expr.Immediate{Register: 1, Data: binaryutil.NativeEndian.PutUint32(class)},
			&expr.Meta{Key: expr.MetaKeyPRIORITY, SourceRegister: true, Register: 1},
			&expr.Verdict{Kind: expr.VerdictAccept})
	})
}

// tidyClasses takes a class away (0: none), and with the last one the root.
func (f *Filter) tidyClasses(class uint32) error {
	if f.classes == nil {
		return nil
	}
	var err error
	if class != 0 {
		err = f.classes.remove(class)
	}
	if f.inClasses == 0 {
		err = errors.Join(err, f.classes.close())
		f.classes = nil
	}
	return err
}

// Stats returns what has become of the packets so far. Of netem only the number of packets that came to it is known: Seen and Delayed.
func (d *Degradation) Stats() (Stats, error) {
	if d.diversion != nil {
		return d.diversion.Stats(), nil
	}
	counts, err := d.rule.Counts()
	return seen(counts), err
}

func seen(counts []Count) Stats {
	packets, _ := Total(counts)
	return Stats{Seen: packets}
}

// Remove heals. What is delayed goes on at once; what waits in netem is lost, and TCP sends it again. A second call returns the same again.
func (d *Degradation) Remove() (Stats, error) {
	if d.diversion != nil {
		return d.diversion.Remove()
	}
	f := d.rule.filter
	f.mu.Lock()
	defer f.mu.Unlock()
	err := d.rule.remove()
	if class := d.class; class != 0 {
		d.class = 0
		f.inClasses--
		err = errors.Join(err, f.tidyClasses(class))
	}
	if err != nil {
		return seen(d.rule.counts), f.failed("heal", d.rule.tag, err)
	}
	return seen(d.rule.counts), nil
}

package scenarios

import (
	"slices"
	"time"
)

// The times of production, at which `--scale real` runs: a usual lease, and a freeze
// that happens (a long collection, a virtual machine that is moved or suspended).
const (
	RealTTL    = Duration(10 * time.Second)
	RealFreeze = Duration(30 * time.Second)
)

// Real returns the plan at the scale of production. The lease is RealTTL, if it is
// shorter. A fault that outlasts the lease, which is what makes it dangerous, lasts
// RealFreeze; a shorter one, and the time to the next, keep their share of the lease, and
// so do a jump of a clock and the delay of packets. The workload runs for three leases at
// least, and for long enough that one fault more can strike than has to. Timeouts are such
// that a client can wait for a lease to run out, and an op for the end of a fault. What
// clients do in between keeps its times: work does not take longer because a lease does.
func (p Plan) Real() Plan {
	s := &p.Scenario
	before := s.TTL
	s.TTL = max(s.TTL, RealTTL)
	s.Duration = max(s.Duration, 3*s.TTL)
	faults := make([]Fault, len(s.Faults))
	longest := Duration(0)
	grow := func(d Duration) Duration { return Duration(float64(d) * float64(s.TTL) / float64(before)) }
	for i, f := range s.Faults {
		f = f.each(func(f Fault) Fault {
			f.By = Offset(grow(Duration(f.By)))
			f.Delay, f.Jitter = grow(f.Delay), grow(f.Jitter)
			if f.For > before {
				f.For = max(f.For, RealFreeze)
			} else {
				f.For, f.After, f.Every = grow(f.For), grow(f.After), Range{grow(f.Every.Min), grow(f.Every.Max)}
			}
			return f
		})
		f = f.at(grow)
		faults[i] = f
		longest = max(longest, f.Longest())
		s.Duration = max(s.Duration, f.ends(s.Needs.Bites))
	}
	if s.Quiet > 0 {
		s.Quiet = grow(s.Quiet)
		s.Duration += s.Quiet
	}
	if len(faults) > 0 {
		s.Faults = faults
	}
	s.Workload.AcquireTimeout = max(s.Workload.AcquireTimeout, 4*s.TTL, 2*longest)
	s.Workload.OpTimeout = max(s.Workload.OpTimeout, s.TTL, 2*longest)
	return p
}

// Stretched returns the scenario for a lock with this TTL: its faults keep
// their share of the lease, and the workload lasts long enough that one fault
// more can strike than has to. What clients do in between keeps its times.
func (s Scenario) Stretched(ttl Duration) Scenario {
	before := s.TTL
	if ttl == before {
		return s
	}
	share := func(d Duration) Duration { return Duration(float64(d) * float64(ttl) / float64(before)) }
	s.TTL = ttl
	faults := make([]Fault, len(s.Faults))
	for i, f := range s.Faults {
		f = f.each(func(f Fault) Fault {
			f.By, f.For, f.After, f.Every = Offset(share(Duration(f.By))), share(f.For), share(f.After),
				Range{share(f.Every.Min), share(f.Every.Max)}
			f.Delay, f.Jitter = share(f.Delay), share(f.Jitter)
			return f
		}).at(share)
		faults[i] = f
		s.Duration = max(s.Duration, f.ends(s.Needs.Bites))
		s.Workload.OpTimeout = max(s.Workload.OpTimeout, 2*f.Longest())
	}
	if s.Quiet > 0 {
		s.Quiet = share(s.Quiet)
		s.Duration += s.Quiet
	}
	if len(faults) > 0 {
		s.Faults = faults
	}
	s.Workload.AcquireTimeout = max(s.Workload.AcquireTimeout, 4*ttl)
	return s
}

// at returns the fault with its times of the run changed.
func (f Fault) at(change func(Duration) Duration) Fault {
	f.At = slices.Clone(f.At)
	for i, t := range f.At {
		f.At[i] = Instant{change(t.At), change(t.Jitter)}
	}
	return f
}

// ends is by when the fault can have struck once more often than it has to, or
// at each of its times.
func (f Fault) ends(bites int) Duration {
	end := f.After + Duration(bites+1)*(f.Longest()+f.Every.Max)
	for _, t := range f.At {
		end = max(end, t.At+t.Jitter+2*f.Longest())
	}
	return end
}

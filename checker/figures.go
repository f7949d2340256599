package checker

import (
	"math"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// What is counted and measured of a run: a verdict's figures.

// Stats describes what the run did; a verdict without enough of it is inconclusive.
type Stats struct {
	Events int64 `json:"events"`
	Ops    int64 `json:"ops"`
	// Grants are those of the workload's clients; the probe's are not among them.
	Grants     int64 `json:"grants"`
	Busy       int64 `json:"busy"`
	Indefinite int64 `json:"indefinite"`
	// Handovers counts contended hand-overs (see history.Needs).
	Handovers int64 `json:"handovers"`
	// Writes accepted and refused by the store, by its ledger.
	Accepted int64 `json:"accepted"`
	Refused  int64 `json:"refused"`
	// Conflicts counts the conditional writes that the store did not accept,
	// since it had another version.
	Conflicts int64 `json:"conflicts,omitempty"`
	// Stale counts accepted writes that violate unfenced-write.
	Stale  int64        `json:"stale"`
	Faults []FaultStats `json:"faults,omitempty"`
	// Bites counts the injected faults that took effect on what they were aimed
	// at (see history.Needs).
	Bites int `json:"bites,omitempty"`
	// AcquireP50 and AcquireP99 are quantiles of successful acquires, by the worker's stamps.
	AcquireP50 time.Duration `json:"acquire_p50_ns"`
	AcquireP99 time.Duration `json:"acquire_p99_ns"`
	// Timings are quantiles of what took time, in the order of timings; those
	// that nothing was measured of are left out.
	Timings []Timing `json:"timings,omitempty"`
	// WaitersMax is the greatest number of clients that waited for a key at once.
	WaitersMax int `json:"waiters_max"`
	// Overlapped is the share of the grants that were not exclusive.
	Overlapped Rate `json:"overlapped"`
	// Recovered is how long after the probe began a fresh client had every key; 0 when not probed.
	Recovered time.Duration `json:"recovered_ns"`
	// OpenMax is the greatest number of grants that the judge had to remember at once.
	OpenMax int `json:"open_max"`
}

// figures are what is counted and measured of a run.
type figures struct {
	stats  Stats
	times  [timingCount]histogram
	judged evidenceCounts
	counts []requestCount // what the service said of itself
	// compared counts the comparisons of grants of semaphores.
	compared   int
	tokensSeen bool
}

// sum returns the statistics of the whole, but for those of its faults. overlapped are the grants
// that were not exclusive.
func (fg *figures) sum(overlapped int64) Stats {
	st := fg.stats
	st.AcquireP50, st.AcquireP99 = fg.times[timeWait].quantile(0.50), fg.times[timeWait].quantile(0.99)
	st.Timings, st.Overlapped = fg.timings(), rateOf(overlapped, st.Grants)
	return st
}

// The timings.
const (
	// TimeWait: from the call of an acquire to its grant, waiting for other holders included.
	TimeWait = "wait"
	// TimeAttempt: the attempt that succeeded, from its start to the grant; of
	// locks that tell when it began.
	TimeAttempt = "attempt"
	// TimeHold: from the grant to the last act under it (see the package documentation).
	TimeHold = "hold"
	// TimeRecovery: from the death of a client that held a key, or from the
	// first request for it after that, to the key's next grant.
	TimeRecovery = "recovery"
	// TimeStop: from the loss of an execution of a job to the last effect of its application, where
	// that came later.
	TimeStop = "stop"
	// TimeRenew, TimeHeld, TimeRelease, TimeRead and TimeWrite: from call to
	// return of an op that was answered, whatever the answer.
	TimeRenew   = "renew"
	TimeHeld    = "held"
	TimeRelease = "release"
	TimeRead    = "read"
	TimeWrite   = "write"
)

// The timings as indices, in the order in which a verdict lists them.
const (
	timeWait = iota
	timeAttempt
	timeHold
	timeRecovery
	timeStop
	timeRenew
	timeHeld
	timeRelease
	timeRead
	timeWrite
	timingCount
)

var timingNames = [timingCount]string{TimeWait, TimeAttempt, TimeHold, TimeRecovery, TimeStop, TimeRenew, TimeHeld,
	TimeRelease, TimeRead, TimeWrite}

// timingOf is the timing of an op's answer; acquires have their own. -1: none.
var timingOf = [...]int{history.KindNone: -1, history.Acquire: -1, history.Release: timeRelease,
	history.Renew: timeRenew, history.Held: timeHeld,
	history.Read: timeRead, history.Write: timeWrite, history.Close: -1, history.Commit: -1}

// Timing is the quantiles of one thing that took time. All but Max are at most a sixteenth off.
type Timing struct {
	What  string        `json:"what"`
	Count int64         `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P95   time.Duration `json:"p95_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Timing returns the timing of that name; it has the count 0 where nothing was measured.
func (s *Stats) Timing(what string) Timing {
	for _, t := range s.Timings {
		if t.What == what {
			return t
		}
	}
	return Timing{What: what}
}

// Rate is how many of a number of grants something happened to, as a share with its 95 %
// confidence interval. The interval takes grants for independent draws; those of one run are
// not quite, and its faults are aimed, so it tells of this scenario and not of production.
type Rate struct {
	// Count is how many of Of: grants during whose hold, or promise, another
	// was made or acted. On a semaphore those that were one too many.
	Count int64 `json:"count"`
	Of    int64 `json:"of"`
	// Low and High bound the true share.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// z95 is the normal quantile that leaves 2.5 % on either side.
const z95 = 1.959963984540054

// Wilson is the score interval of a binomial proportion at 95 % (E. B. Wilson,
// Probable inference, the law of succession, and statistical inference, JASA 22,
// 1927). Unlike the usual one, it is good for small numbers and for none at all: of 0
// in n it says how much may have gone unseen. Of nothing in nothing it is everything.
func Wilson(count, of int64) (low, high float64) {
	n := float64(of)
	p := min(float64(count)/n, 1)
	scale := 1 / (1 + z95*z95/n)
	mid := (p + z95*z95/(2*n)) * scale
	half := z95 * math.Sqrt(p*(1-p)/n+z95*z95/(4*n*n)) * scale
	low, high = mid-half, mid+half
	if count == 0 {
		low = 0 // not the rounding of it, and no NaN, of nothing in nothing
	}
	if count >= of {
		high = 1
	}
	return low, high
}

// rateOf is a rate with its interval.
func rateOf(count, of int64) Rate {
	low, high := Wilson(count, of)
	return Rate{Count: count, Of: of, Low: low, High: high}
}

// timings sums the histograms up.
func (fg *figures) timings() (all []Timing) {
	for i := range fg.times {
		// where calls and answers have one stamp, nothing was measured
		if h := &fg.times[i]; h.max > 0 {
			all = append(all, Timing{What: timingNames[i], Count: h.n, P50: h.quantile(0.50), P95: h.quantile(0.95),
				P99: h.quantile(0.99), Max: time.Duration(h.max)})
		}
	}
	return all
}

// orphanedKey is a key whose holder has died.
type orphanedKey struct {
	died  int64 // 0: nobody has
	asked int64 // when somebody asked for it since then, or waited already; 0: nobody
}

// orphaned notes that a client that holds the key is gone at t.
func (k *keyState) orphaned(client, process int32, t int64) {
	if !k.by.opens(client) {
		return
	}
	for g := range k.open.all {
		if g.client != client || process != 0 && g.process > process || g.closed {
			continue
		}
		k.orphan = orphanedKey{died: t}
		for o := k.waitHead; o != nil; o = o.next {
			if o.client != client {
				k.orphan.asked = t
				break
			}
		}
		return
	}
}

// recovered notes the first grant of a key after its holder's death.
func (fg *figures) recoveredBy(k *keyState, g *grant) {
	if g.end < k.orphan.died {
		return
	}
	if k.orphan.asked != 0 {
		fg.times[timeRecovery].add(g.end - k.orphan.asked)
	}
	k.orphan = orphanedKey{}
}

// evidenceCounts is how much there was to judge some properties by; a pass needs some of it.
type evidenceCounts struct {
	asked, confirmations, leases, enqueued int64 // asked: ops whose answer would confirm a hold
	// losses counts the news of losses, passed the grants of a released key to
	// a client that asked alone.
	losses, passed int64
	// renewals counts those that were answered ok, renewedLeases those of them
	// that tell enough of their lease.
	renewals, renewedLeases int64
}

// countWrite counts a write, and reports whether the store took it.
func (fg *figures) countWrite(e *history.Event) (taken bool) {
	switch {
	case e.Refused:
		fg.stats.Refused++
	case e.Conflict:
		fg.stats.Conflicts++
	default:
		fg.stats.Accepted++
		return true
	}
	return false
}

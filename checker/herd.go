// # herd
//
// Judged if the lock declares to wake one waiter, and the workload is stampede, in which all
// clients but one wait. Take the requests that the service says it handled between two instants
// (event count), less one heartbeat each third of a TTL for every client, divided by the grants
// between. Violated if that exceeds 10 + waiters/4.
//
// A lock that wakes one waiter needs a release, a wake-up, a look at the queue, a new place in it
// and a few retries: below 10 for the recipes of etcd and ZooKeeper, counted on three nodes too.
// One that wakes all needs at least a request for each, or half of them on average if nobody queues
// again. With fewer than 40 clients the two cases are too close to distinguish.
//
// A fault of the service in between leaves it open, or a stall of half a TTL: clients connect
// again, and that costs requests.
package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Herd names the property herd: the cost of a hand-over does not grow with the waiters.
const Herd = "herd"

// herd reads, beside rules and findings: book, faults, figures.
var herd = Property{
	Name:  Herd,
	About: "A release wakes one waiter: the requests for a hand-over do not grow with the number of waiters.",
	exempt: func(h *history.Header) string {
		switch {
		case !h.Claims.WakesOne:
			return "This lock does not declare to wake only one waiter."
		case h.Workload != workloadStampede:
			return fmt.Sprintf("It is measured in workload %s only.", workloadStampede)
		}
		return ""
	},
	short: (*Sweep).herdShort,
	shown: func(s *Sweep) string {
		each, allowed := s.cost()
		return fmt.Sprintf("A hand-over cost %.1f requests, with %d clients waiting; %.0f would be a herd.", each,
			s.rules.Clients-1, allowed)
	},
	finish: (*Sweep).judgeHerd,
	Words: Words{
		Demands: "A release costs the same number of requests, however many clients wait.",
		Once:    "Every release woke a herd of waiters",
		More:    "Every release woke a herd of waiters",
		Lead:    "Watch only the one before.",
		Advice: "All waiters look at the same thing, so each release makes all of them ask, and one of them " +
			"wins. A waiter that watches only its predecessor in the queue is woken when it is its turn.",
	},
}

// workloadStampede is the workload that the property is judged in.
const workloadStampede = "stampede"

const (
	herdBase      = 10 // requests that a hand-over may cost by itself
	herdShare     = 4  // one for so many waiters
	herdClients   = 40
	herdGrants    = 10
	herdHeartbeat = 3 // heartbeats a TTL
)

// requestCount is what the service said that it had handled, and how many grants there had been by
// then.
type requestCount struct {
	at, requests, grants int64
}

// counted handles a figure that the service tells of itself.
func (s *Sweep) counted(e *history.Event) {
	if e.Text != history.CountRequests {
		return
	}
	t := requestCount{at: e.Time, requests: e.Value, grants: s.book.grants}
	if len(s.figures.counts) < 2 {
		s.figures.counts = append(s.figures.counts, t)
	} else {
		s.figures.counts[1] = t
	}
}

// cost is what was measured: the requests for one grant, heartbeats taken off,
// and what they may be.
func (s *Sweep) cost() (each, allowed float64) {
	from, to := s.figures.counts[0], s.figures.counts[1]
	requests := float64(to.requests - from.requests)
	if s.rules.TTL > 0 {
		requests -= float64(s.rules.Clients) * herdHeartbeat * float64(to.at-from.at) / float64(s.rules.TTL)
	}
	return max(0, requests) / float64(to.grants-from.grants), herdBase + float64(s.rules.Clients-1)/herdShare
}

// herdShort says what is lacking to judge the property; empty when nothing is.
func (s *Sweep) herdShort() string {
	if len(s.figures.counts) < 2 {
		return "The service's requests were not counted at two instants."
	}
	from, to := s.figures.counts[0], s.figures.counts[1]
	switch n := to.grants - from.grants; {
	case s.rules.Clients < herdClients:
		return fmt.Sprintf("The run had %s; below %d a herd can't be told from ordinary traffic.",
			count(s.rules.Clients, "client", "clients"), herdClients)
	case n < herdGrants:
		return fmt.Sprintf("Grants between the two counts: %d; it takes %d to tell what one costs.", n, herdGrants)
	case to.requests < from.requests:
		return "The service's count of requests went backwards: a node was started anew."
	case s.faults.reconnected(from.at, to.at):
		return "A fault touched the service between the two counts, and clients that connect again make requests of their own."
	}
	return ""
}

// reconnected reports whether the service was disturbed between two instants so that
// clients may have connected again. A stall of less than half a TTL breaks no connection.
func (fs *faults) reconnected(from, to int64) bool {
	return slices.ContainsFunc(fs.service, func(sp span) bool {
		return sp.from <= to && sp.to >= from && (sp.injected || sp.to-sp.from >= fs.rules.TTL/2)
	})
}

// judgeHerd judges the run, at its end.
func (s *Sweep) judgeHerd(p *Property) {
	if s.herdShort() != "" {
		return
	}
	each, allowed := s.cost()
	if each <= allowed {
		return
	}
	from, to := s.figures.counts[0], s.figures.counts[1]
	j, k := judgement{violated: true}, s.book.keys[0]
	s.findings.record(p, k, j, j, func(judgement) *Violation {
		return &Violation{Property: Herd, Key: s.rules.name(k), At: to.at, From: from.at, To: to.at,
			Text: fmt.Sprintf("with %d clients waiting for %s, the service handled %d requests for "+
				"%d grants: %.0f a hand-over, heartbeats not counted, where a lock that wakes one waiter needs at most %.0f.", s.rules.Clients-1, s.rules.name(k), to.requests-from.requests,
				to.grants-from.grants, each, allowed)}
	})
}

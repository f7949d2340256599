// # Stuck locks: who is shut out
//
// A client may be unable to be granted anything any more, though the lock is in order: it never
// connects again, or goes on with a session that has ended. Only a fresh process helps. Errors are
// no answer of the lock, so no rule above accuses it. While others work nobody can tell such a
// client from one that comes too late, since a library that says only "failed" says it of a key
// that is taken, too.
//
// So the harness lets each client that is alive ask when the workload is over (phase "each"), one
// after the other, while the others are idle. The key is free: a fresh client was granted it just
// before (phase "probe"), and is granted it again at the end (phase "final"). A client is shut out
// if it asks again and again for longer than Patience and than Outage (libraries wait longer and
// longer before they connect again), and gets nothing but errors. Outage is 10,000:
//
//	P.acquire [1000,1001], P.release [1002,1003]
//	B.acquire [1100,1101] unknown, and so each time until 11,200; B is closed
//	Q.acquire [12000,12001]
//
// "An error is enough" accuses every lock that notices by its first request that its connection has
// gone. It may notice by the end of its time alone, so one acquire shows nothing, however long: the
// last of several must have begun when nothing disturbed any more. "Nobody else asked" is not
// enough without the last fresh client: the service may have gone. What disturbs and for how long,
// and what stalls take off, is as above: a fault on the client or on the service counts for twice
// its time, and a wrong clock for ever. Refusals are judged by the rules above.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// vainAsker is a client that has asked for a key and got errors alone.
type vainAsker struct {
	client int32
	op     int64 // its last acquire
	from   int64 // the start of its first one
	last   int64 // the start of its last one
	to     int64 // the end of its last one
}

// askedAlone notes the answer to a client that asked while the others were idle.
func (s *Sweep) askedAlone(k *keyState, o *op, e *history.Event) {
	alone := k.probe.alone
	n := len(alone)
	same := n > 0 && alone[n-1].client == o.client
	if e.Type == history.OK || e.Busy || o.start == 0 {
		if same {
			k.probe.alone = alone[:n-1]
		}
		return
	}
	if !same {
		alone = append(alone, vainAsker{client: o.client, from: o.start})
		n++
	}
	alone[n-1].op, alone[n-1].last, alone[n-1].to = o.id, o.start, stamp(e.End, e.Time)
	k.probe.alone = alone
}

// judgeShutOut judges those that got errors alone, now that it is known whether others got the key.
func (s *Sweep) judgeShutOut(p *Property) {
	for _, k := range s.book.keys {
		if k.probe.got[probeAlive] == 0 || k.probe.got[probeFinal] == 0 {
			continue
		}
		for _, a := range k.probe.alone {
			s.judgeVain(p, k, a)
		}
	}
}

func (s *Sweep) judgeVain(p *Property, k *keyState, a vainAsker) {
	from := s.faults.calmSince(nil, a.client, a.from, a.to)
	need := max(s.rules.patienceNs(), int64(Outage))
	if a.last == a.from || a.last < from || a.to-from < need {
		return
	}
	doubt := a.to-from-s.faults.stalledIn(from, a.to) < need
	j := judgement{violated: true, kind: KindShutOut, pattern: PatternUnexplained, stallOnly: doubt}
	s.findings.record(p, k, j, j, func(judgement) *Violation {
		v := s.stuckAfter(k, nil, a.op, a.from, a.to)
		v.Kind, v.At = KindShutOut, from+need
		v.Text = fmt.Sprintf("from %s to %s client %d, which nothing disturbed, asked for %s and got nothing but errors, while "+
			"nobody else wanted it; fresh clients were granted it before and afterwards.", seconds(from), seconds(a.to), a.client, v.Key)
		return v
	})
}

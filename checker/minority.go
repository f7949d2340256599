// # What a fault on nodes excuses
//
// A fault on the service excuses what it may explain. Of a lock on a quorum that claims to tolerate
// a minority (Claims.Tolerates), one that touches only a minority of the nodes excuses nothing. The
// TTL is 500, and the lock is on five nodes:
//
//	A.acquire [0,1], A.release [10,11]
//	nodes 1 and 2 are frozen from 30 to 7,000; B asks again and again from 20 on, and is told busy until 3,400
//
// Tolerated are nodes that are away, slow or out of reach. A node that comes back without its data,
// or whose clock is wrong, gives its vote twice. A stall of one node is the machine's doing, and
// the others are next. Nodes count together for a lifetime (TTL and Slack) after they were struck,
// since what was given up meanwhile may still stand there: nodes 1 and 2 until 40, and node 3 from
// 900 on, are three of five.
//
// To let a minority excuse nothing at all would accuse every correct session lock whose clients
// each talk to one node. A client that talked to a node that is away is cut off, and needs time to
// find another one. So there such a fault excuses for a lifetime from its beginning, in which the
// client has moved on or its session has ended. A node that is merely slow excuses for as long as
// it is slow: no quorum replaces a leader that answers.
//
// A majority answers for independent nodes (no session), so a release may be answered ok, and an
// acquire told busy, while a fault on its client kept a request from a few of them. What stands
// there does so until its lease is over, and with that of another client it may be a majority:
//
//	A is granted the key by nodes 1 to 5, and cut off from 1 and 2 when it gives it back
//	B is granted it by 3 to 5, and cut off from 3 when it gives it back
//	C is told by 1 to 3 that it is taken
package checker

import "slices"

// toleratesMinority is the claim of a lock on a quorum that it keeps its word
// while a fault touches only a minority of the service's nodes.
const toleratesMinority = "minority"

// onService notes a fault on the lock service as far as it excuses anything, by what the lock
// claims (Claims.Tolerates). This is the only place where a fault on nodes becomes an excuse.
func (fs *faults) onService(sp span) {
	if fs.rules.Claims.Tolerates != toleratesMinority {
		fs.excuse(sp)
		return
	}
	fs.nodes = append(fs.nodes, sp)
	for _, x := range fs.nodes {
		if x.from > sp.to || x.to < sp.from {
			continue
		}
		fs.service = slices.DeleteFunc(fs.service, func(old span) bool { return old.id == x.id })
		fs.excuseBeyond(x)
	}
}

// excuseBeyond notes what is left of a fault's excuse where a minority of the
// nodes excuses nothing.
func (fs *faults) excuseBeyond(sp span) {
	if !quorumBears(sp) {
		fs.excuse(sp)
		return
	}
	moved := fs.rules.untilMovedOn(sp)
	since := fs.noMinoritySince(sp)
	if moved > since {
		since = sp.from
	}
	if moved != 0 && since > sp.from {
		first := sp
		first.to = moved
		fs.excuse(first)
	}
	if since != forever {
		sp.from = since
		fs.excuse(sp)
	}
}

// noMinoritySince is the first instant in a fault at which the nodes that are
// struck are no minority; forever: they always are one.
func (fs *faults) noMinoritySince(sp span) int64 {
	since := int64(forever)
	for _, x := range fs.nodes {
		begins := x.id == sp.id || x.from > sp.from && x.from <= sp.to
		if begins && x.from < since && 2*len(fs.struckAt(x.from)) >= fs.rules.Nodes {
			since = x.from
		}
	}
	return since
}

// struckAt are the nodes that faults have struck by t. They count for a
// lifetime longer: a node that has just come back may still bear what was given
// up meanwhile. One that was only starved was there all the time.
func (fs *faults) struckAt(t int64) (nodes []string) {
	for _, x := range fs.nodes {
		over := x.to
		if x.injected && over != forever {
			over += fs.rules.lifetime()
		}
		if x.from > t || over < t {
			continue
		}
		for _, host := range x.hosts {
			if !slices.Contains(nodes, host) {
				nodes = append(nodes, host)
			}
		}
	}
	return nodes
}

// untilMovedOn is until when a fault on a minority excuses what it may explain; 0: it
// excuses nothing. Clients that keep a session keep it through one node. If that is away,
// they are cut off from all, until they have found another one or the session has ended,
// and that takes a lifetime at most. A leader that is merely slow is not replaced.
func (r *rules) untilMovedOn(sp span) int64 {
	if r.Claims.Validity != validitySession {
		return 0
	}
	if gone := crashes(sp) || !degrades(sp); gone {
		return min(sp.to, sp.from+r.lifetime())
	}
	return sp.to
}

// scatters reports whether what a client did until an instant may have left something on a few
// independent nodes: a fault on the client may have kept a request from them.
func (s *Sweep) scatters(client int32, from, to int64) bool {
	claims := &s.rules.Claims
	return claims.Tolerates == toleratesMinority && claims.Validity != validitySession &&
		touched(s.faults.clientSpans(client), from, to, anyFault)
}

// excuse notes that a fault on the service excuses what it may explain.
func (fs *faults) excuse(sp span) {
	fs.service, fs.struck = append(fs.service, sp), fs.struck || sp.injected
	if crashes(sp) && !sp.kept {
		fs.restart = sp
	}
}

package checker

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/lockchaos/lockchaos/history"
)

// name returns a key's name.
func (s *Sweep) name(k *keyState) string {
	if int(k.id) < len(s.names) {
		return s.names[k.id]
	}
	return fmt.Sprintf("key %d", k.id)
}

// seconds writes nanoseconds for a reader.
func seconds(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }

// count writes a number with its noun; "An injected fault" style singulars bring their own article.
func count(n int, one, many string) string {
	if n == 1 {
		if unicode.IsUpper(rune(one[0])) {
			return one
		}
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// who names a grant's client, with its token if it has one.
func who(g *grant) string {
	switch {
	case g.mode == history.ModeRead:
		return fmt.Sprintf("client %d (a reader)", g.client)
	case g.mode == history.ModeWrite:
		return fmt.Sprintf("client %d (a writer)", g.client)
	case g.token != 0:
		return fmt.Sprintf("client %d (token %d)", g.client, g.token)
	}
	return fmt.Sprintf("client %d", g.client)
}

// evidence gathers the ops that prove a violation.
type evidence []act

func (e *evidence) add(op, start int64) {
	if op != 0 && !slices.ContainsFunc(*e, func(a act) bool { return a.op == op }) {
		*e = append(*e, act{op: op, start: start})
	}
}

// ops lists them in order of time, at most eight.
func (e evidence) ops() []int64 {
	sort.SliceStable(e, func(i, j int) bool { return e[i].start < e[j].start })
	ids := make([]int64, 0, len(e))
	for _, a := range e {
		ids = append(ids, a.op)
	}
	return ids[:min(len(ids), 8)]
}

// remembered is the acts that the grant still remembers, oldest first.
func (g *grant) remembered() []act {
	var list []act
	if g.nacts > 0 {
		list = append(list, g.act(0))
	}
	for i := max(1, g.nacts-keptActs); i < g.nacts; i++ {
		list = append(list, g.act(i))
	}
	return list
}

// around adds the acquire of a grant, its last act up to t, the first after t, and the last of all.
func (e *evidence) around(g *grant, t int64) {
	e.add(g.id, g.start)
	var before, after, last act
	for _, a := range g.remembered() {
		if a.start <= t {
			before = a
		} else if after.op == 0 {
			after = a
		}
		last = a
	}
	for _, a := range [...]act{before, after, last} {
		e.add(a.op, a.start)
	}
}

// faultsOf lists the faults that touched one of the grants' clients, its way to the store, or the service, while they were held, by their IDs.
func (s *Sweep) faultsOf(until int64, grants ...*grant) []int {
	var ids []int
	for _, g := range grants {
		own := s.troubles(g.client)
		for _, spans := range [3][]span{own[0], own[1], s.service} {
			for _, sp := range spans {
				if sp.from <= until && sp.to >= g.earliest {
					ids = append(ids, sp.id)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// deathsOf lists the kills that ended a grant's client.
func (s *Sweep) deathsOf(g *grant) (ids []int) {
	for _, sp := range s.clientSpans(g.client) {
		if sp.kind == faultKill && sp.to >= g.earliest {
			ids = append(ids, sp.id)
		}
	}
	return ids
}

// plight tells what a fault did to the client of a grant up to t; empty when nothing did.
func (s *Sweep) plight(g *grant, t int64) string {
	var worst span
	for _, sp := range s.clientSpans(g.client) {
		if sp.from <= t && sp.to >= g.earliest && (worst.to == 0 || sp.injected && !worst.injected || sp.injected == worst.injected && sp.to-sp.from > worst.to-worst.from) {
			worst = sp
		}
	}
	if worst.to == 0 {
		return ""
	}
	if worst.kind == faultReset || worst.kind == faultExpireSession { // over as soon as it has struck
		return plights[worst.kind]
	}
	long := " to the end"
	if worst.to != forever {
		long = " for " + seconds(stamp(worst.measured, worst.to-worst.from))
	}
	if did := plights[worst.kind]; did != "" {
		return did + long
	}
	return fmt.Sprintf("met the fault %q%s", worst.kind, long)
}

// plights say what a fault did to a client.
var plights = map[string]string{
	faultPause:         "was frozen",
	faultStall:         "was starved by this machine", // an injected one holds up the application alone, and is noted aside
	faultThrottle:      "got only a share of its processor time",
	faultPartition:     "was cut off from the lock service",
	faultRenewerStall:  "could not renew its lease",
	faultReset:         "lost its connection",
	faultExpireSession: "lost its session",
	"clock-jump":       "read a clock that had jumped",
	"clock-rate":       "read a clock that ran wrong",
	"clock-strobe":     "read a clock that jumped to and fro",
}

// tellPair tells of a double-hold of an exclusive lock.
func (s *Sweep) tellPair(x, y *grant, j judgement, tokens bool) *Violation {
	a, b := inOrder(x, y, tokens)
	v := &Violation{Property: MutualExclusion, Kind: j.kind, Severity: j.severity, Key: s.name(s.keyOf(x)), A: a.ref(), B: b.ref()}
	var proof evidence
	proof.around(a, b.end)
	proof.around(b, b.end)
	until := max(b.end, min(a.last, b.last))
	v.Ops, v.Faults = proof.ops(), s.faultsOf(until, a, b)
	both := overlap(a, b, tokens)
	if both {
		v.From, v.To = b.beginning(tokens), min(a.last, b.last)
		if v.To < v.From { // one of them is of no length, and its instant is not known better
			v.From, v.To = v.To, v.From
		}
		v.Text = fmt.Sprintf("%s and %s both held %s from %s to %s", who(a), who(b), v.Key, seconds(v.From), seconds(v.To))
	} else {
		v.From, v.To = max(a.end, b.end), min(a.limit(), b.limit())
		if v.To == forever || v.To < v.From {
			v.To = v.From
		}
		v.Text = fmt.Sprintf("%s was granted %s at %s", who(b), v.Key, seconds(b.end))
	}
	v.At = v.From
	v.Text += s.because(a, b, j, both) + "."
	return v
}

// because tells why there were two holders.
func (s *Sweep) because(a, b *grant, j judgement, both bool) string {
	switch j.kind {
	case KindGrantedWhileValid:
		until := "until it gave the lock up"
		if a.promise != forever {
			until = "until " + seconds(a.promise)
		}
		if !both {
			return fmt.Sprintf(", although the lock had promised it to %s %s", who(a), until)
		}
		return fmt.Sprintf(": client %d was granted it at %s, although the lock had promised it to client %d %s", b.client, seconds(b.end), a.client, until)
	case KindLateNotice:
		return fmt.Sprintf(": client %d went on undisturbed for %s after client %d was granted it, and the lock, which declares to tell a loss within %s, had told it nothing",
			a.client, seconds(a.untold-max(b.end, s.lastDisturbance(a.client, a.untold))), b.client, seconds(s.header.Claims.LostGrace))
	case KindLeaseOverrun:
		return s.overran(a, j.pattern)
	}
	return ""
}

// overran tells how a client outlived its lease.
func (s *Sweep) overran(a *grant, pattern string) string {
	plight := s.plight(a, a.last)
	lease := fmt.Sprintf("its lease of %s", seconds(s.header.TTL))
	switch {
	case s.header.Claims.Validity == validitySession:
		lease = fmt.Sprintf("its session TTL of %s", seconds(s.header.TTL))
	case s.header.Claims.Validity == validityLibrary && s.timed(a): // mostly less than the TTL
		lease = fmt.Sprintf("its lease, which its library called good until %s,", seconds(a.promise+promiseMargin))
	}
	switch {
	case a.told != 0 && a.told < a.last:
		return fmt.Sprintf(": client %d was told of the loss at %s and went on as holder", a.client, seconds(a.told))
	case pattern == PatternStoreAway:
		return fmt.Sprintf(": client %d waited for the store, outlived %s and went on as holder", a.client, lease)
	case pattern == PatternWorkedPast:
		return fmt.Sprintf(": client %d worked for longer than %s and went on as holder", a.client, lease)
	case plight != "":
		return fmt.Sprintf(": client %d %s, outlived %s and went on as holder", a.client, plight, lease)
	}
	return fmt.Sprintf(": client %d outlived %s and went on as holder", a.client, lease)
}

// tellCrowd tells of a semaphore that had one holder too many.
func (s *Sweep) tellCrowd(b *grant, others []*grant, j judgement) *Violation {
	first := others[0]
	for _, x := range others {
		if x.end < first.end || x.end == first.end && x.id < first.id {
			first = x
		}
	}
	v := &Violation{Property: MutualExclusion, Kind: j.kind, Severity: j.severity, Key: s.name(s.keyOf(b)), A: first.ref(), B: b.ref(), At: b.end, From: b.end}
	var proof evidence
	var names []string
	v.To = b.last
	for _, x := range others {
		proof.add(x.id, x.start)
		names = append(names, fmt.Sprintf("client %d", x.client))
		if x.held() {
			v.To = min(v.To, x.last)
		}
	}
	v.To = max(v.To, v.From)
	sort.Strings(names)
	proof.add(b.id, b.start)
	for _, x := range others {
		proof.around(x, b.end)
	}
	v.Ops, v.Faults = proof.ops(), s.faultsOf(v.To, append([]*grant{b}, others...)...)
	v.Text = fmt.Sprintf("client %d was one holder too many of %s, which has %s, from %s: %s held it too%s.", b.client, v.Key,
		count(s.permits, "permit", "permits"), seconds(b.end), strings.Join(firstFew(names), ", "), s.because(first, b, j, true))
	return v
}

// tellUnfenced tells of an accepted write w behind another hold's.
func (s *Sweep) tellUnfenced(k *keyState, w, other writer, o *op, f *footprint, j judgement) *Violation {
	a, b := w.g, other.g
	v := &Violation{Property: UnfencedWrite, Kind: j.kind, Severity: Corrupting, Key: s.name(k), At: w.at, From: other.at, To: w.at, A: a.ref(), B: b.ref()}
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(f.readOp, a.start+1)
	proof.add(b.id, b.start)
	proof.add(other.op, other.at)
	proof.add(w.op, w.at)
	v.Ops, v.Faults = proof.ops(), s.faultsOf(w.at, a, b)
	v.Text = fmt.Sprintf("the store accepted a write of %s to %s (version %d) after one of %s (version %d)", who(a), v.Key, w.version, who(b), other.version)
	switch j.kind {
	case KindStale:
		v.Text += fmt.Sprintf(": it began at %s, when client %d had been granted the lock at %s", seconds(max(o.start, o.inv)), b.client, seconds(b.end))
	case KindInFlight:
		v.Text += fmt.Sprintf(": it was sent at %s, before client %d was granted the lock at %s, and only a fence could have refused it",
			seconds(o.start), b.client, seconds(b.end))
	}
	v.Text += "."
	return v
}

// tellLost tells of a lost update: w replaced what other had written after w's hold read.
func (s *Sweep) tellLost(k *keyState, w, other writer, base, baseOp int64) *Violation {
	a, b := w.g, other.g
	v := &Violation{Property: LostUpdate, Severity: Corrupting, Key: s.name(k), At: w.at, From: other.at, To: w.at}
	first, second := inOrder(a, b, s.trusted(k))
	v.A, v.B = first.ref(), second.ref()
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(baseOp, a.start+1)
	proof.add(b.id, b.start)
	proof.add(other.op, other.at)
	proof.add(w.op, w.at)
	v.Ops, v.Faults = proof.ops(), s.faultsOf(w.at, a, b)
	v.Text = fmt.Sprintf("%s read version %d of %s and wrote version %d over version %d of %s, which it had never seen.", who(a), base, v.Key,
		w.version, other.version, who(b))
	return v
}

// tellToken tells of a grant b whose token is out of order beside a's.
func (s *Sweep) tellToken(a, b *grant, how string) *Violation {
	v := &Violation{Property: TokenOrder, Key: s.name(s.keyOf(b)), At: max(a.end, b.end), A: a.ref(), B: b.ref()}
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(b.id, b.start)
	v.Ops, v.Faults = proof.ops(), s.faultsOf(v.At, a, b)
	switch how {
	case "shared":
		v.Text = fmt.Sprintf("client %d and client %d were both given token %d for %s.", a.client, b.client, b.token, v.Key)
	case "smaller":
		v.Text = fmt.Sprintf("client %d began to acquire %s at %s and was given token %d, smaller than token %d, which client %d had by %s.",
			b.client, v.Key, seconds(b.earliest), b.token, a.token, a.client, seconds(a.end))
	default:
		v.Text = fmt.Sprintf("client %d, which nothing disturbed, was given token %d of %s at %s, after client %d had been given the greater token %d at %s.",
			b.client, b.token, v.Key, seconds(b.end), a.client, a.token, seconds(a.end))
	}
	return v
}

// tellStuck tells of a key that stayed busy.
func (s *Sweep) tellStuck(k *keyState, last *grant, probe int64, client int32, since, end int64) *Violation {
	v := &Violation{Property: StuckLock, Key: s.name(k), At: since + s.header.TTL, From: since, To: end}
	var proof evidence
	if last != nil {
		proof.add(last.id, last.start)
		v.A = last.ref()
		v.Faults = s.deathsOf(last)
	}
	proof.add(probe, end)
	v.Ops = proof.ops()
	v.Text = fmt.Sprintf("nobody could hold %s from %s on, yet at %s client %d, a fresh one, was still told that it is busy (TTL %s).", v.Key,
		seconds(since), seconds(end), client, seconds(s.header.TTL))
	return v
}

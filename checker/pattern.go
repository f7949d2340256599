// # Patterns
//
// A kind says whose fault a violation is. A pattern says how it came about, for every property for
// which that is a question (Patterns). It is decided by what would have been: a fault explains a
// conflict if, without the time that it lasted, the earlier holder would have acted inside its
// promise.
//
//	A.acquire [0,1], A is stopped from 4 to 24, B.acquire [600,601], A.write [710,711]
//
// "The longest fault on the holder" would blame the stop. Without it A would have written at 690,
// when its lease of 500 was over as well: it worked past its lease. Where faults of two sorts would
// each explain it, the history does not show which did.
//
// A session's end is not in a history. So a client that was away for half a TTL when the other was
// granted the key is taken to have lost its session by that. Where the order of two grants is
// unknown, a pattern is given if it is the same either way, or if only one order has an explanation
// at all.
package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// The targets that a judge asks for.
const (
	targetPrimary = "primary"
	targetService = "service"
)

// pairPattern is the pattern of a conflict between two grants under one reading of the
// tokens; acted, if it is not 0, is when the earlier one's harmful act began. Where the
// order of the grants is unknown, there is a pattern if it is the same either way, or if
// only one order has an explanation: the other one would need a lock that fails by itself.
func (ex *explanations) pairPattern(x, y *grant, acted int64, tokens bool) string {
	a, b := inOrder(x, y, tokens)
	first := ex.patternOf(a, b, acted)
	if ex.grantedAfter(b, a, tokens) {
		return first
	}
	second := ex.patternOf(b, a, acted)
	switch {
	case first == second || second == PatternUnexplained || second == PatternGrantedTwice:
		return first
	case first == PatternUnexplained || first == PatternGrantedTwice:
		return second
	}
	return PatternUnexplained
}

// patternOf is the pattern of a conflict in which b was granted later than a.
func (ex *explanations) patternOf(a, b *grant, acted int64) string {
	if a.dead || b.dead {
		return PatternLateReply
	}
	if ex.inPromise(b, a) && !ex.book.uncertainPromises(a, b) {
		return ex.givenAway(a, b)
	}
	if ex.rules.Claims.Validity == validitySession && ex.noticedLate(a, b) {
		return PatternSessionUnseen
	}
	if a.timed() && a.promise <= a.end {
		return PatternLateReply
	}
	if ignored, _ := ex.lossIgnored(a, b, a.last); ignored {
		return PatternLossIgnored
	}
	exact := true
	if acted == 0 {
		acted, exact = a.actedBeside(b.end)
	}
	if causes := ex.causes(a, b, acted); len(causes) > 0 {
		return soleCause(causes)
	}
	switch {
	case a.toldBefore(acted):
		return PatternLossIgnored
	case a.timed():
		spent := ex.faults.timeOf(a, acted, func(span) bool { return true })
		if exact && acted-spent >= a.promise {
			return PatternWorkedPast
		}
	}
	return PatternUnexplained
}

// soleCause is the one cause that there is, several-faults if there are more.
func soleCause(causes []string) string {
	for _, c := range causes[1:] {
		if c != causes[0] {
			return PatternSeveral
		}
	}
	return causes[0]
}

// givenAway is the pattern of a grant b that was made inside a's promise.
func (ex *explanations) givenAway(a, b *grant) string {
	if ex.freed(a, b) {
		return PatternStolen
	}
	if ex.rules.grantedKind(a, b) != KindGrantedWhileValid {
		return PatternSameIdentity
	}
	causes := ex.faults.serviceCauses(a.earliest, b.end, 0)
	if ex.rules.Claims.Validity == validityLibrary && ex.faults.timeOf(a, b.end, isClock) > 0 {
		// the client itself measured how long its grant is good
		causes = append(causes, PatternClockJumped)
	}
	if len(causes) == 0 {
		return PatternGrantedTwice
	}
	return soleCause(causes)
}

// causes are the faults that each explain by themselves why a acted though its
// lease or session was over.
func (ex *explanations) causes(a, b *grant, acted int64) []string {
	if a.timed() {
		return ex.leaseCauses(a, b, acted)
	}
	return ex.sessionCauses(a, b, acted)
}

// leaseCauses are those of a lease with an end: without the time that they
// lasted, a would have acted before it.
func (ex *explanations) leaseCauses(a, b *grant, acted int64) (causes []string) {
	for _, c := range [...]struct {
		takes   func(span) bool
		pattern string
	}{{stops, PatternPaused}, {cutsOff, PatternCutOff}, {starves, PatternRenewalStarved}, {cutsOffStore, PatternStoreAway}} {
		if spent := max(ex.faults.timeOf(a, acted, c.takes), ex.faults.blockedBy(a, acted, c.takes)); spent > 0 &&
			acted-spent < a.promise {
			causes = append(causes, c.pattern)
		}
	}
	// how far its own clock led it astray is not in the history
	if ex.faults.timeOf(a, acted, isClock) > 0 {
		causes = append(causes, PatternClockJumped)
	}
	return causes
}

// sessionCauses are those of a session, whose end nobody sees but the service: a client
// that is away for half of the TTL may miss as many keep-alives as it takes, and the
// session was over when b was granted. What happens to the service counts as well.
func (ex *explanations) sessionCauses(a, b *grant, acted int64) (causes []string) {
	half := ex.rules.TTL / 2
	for _, spans := range ex.faults.troubles(a.client) {
		for _, sp := range spans {
			if sp.from > b.end || !ex.rules.bearsOn(sp, a) {
				continue
			}
			long := half > 0 && min(sp.to, b.end)-sp.from >= half
			if pattern := sessionCause(sp, a, acted, long); pattern != "" {
				causes = append(causes, pattern)
			}
		}
	}
	return append(causes, ex.faults.serviceCauses(max(a.earliest, b.end-2*ex.rules.TTL), b.end, half)...)
}

// sessionCause is the pattern of a fault on the client of a session that acted once it was over; ""
// if it explains nothing. long: it lasted for as long as a session may miss.
func sessionCause(sp span, a *grant, acted int64, long bool) string {
	switch untold := !a.toldBefore(acted); {
	case untold && (endsAfter(sp, a) || cutsOff(sp) && long):
		return PatternSessionUnseen
	case stops(sp) && sp.touch.Stops == history.StopsProcesses && long:
		return PatternPaused
	case starves(sp) && long:
		return PatternRenewalStarved
	case isClock(sp):
		return PatternClockJumped
	}
	return ""
}

func (g *grant) toldBefore(t int64) bool { return g.told != 0 && g.told < t }

// serviceCauses are the patterns of the injected faults that touched the lock service
// between two instants. A majority that is away for less than least is no cause.
func (fs *faults) serviceCauses(from, to, least int64) (causes []string) {
	for _, sp := range fs.service {
		if sp.injected && sp.from <= to && sp.to >= from {
			causes = append(causes, fs.serviceCause(sp, to, least))
		}
	}
	return causes
}

// serviceCause is the pattern of one of them.
func (fs *faults) serviceCause(sp span, to, least int64) string {
	crash := crashes(sp)
	switch {
	case isClock(sp):
		return PatternClockJumped
	case deposes(sp, to):
		return PatternFailover
	case crash && least == 0 && sp.kept && sp.target == targetPrimary:
		return PatternFailover // what it knew came back with it, to a replica that had taken over
	case crash && least == 0 && !sp.kept:
		return PatternRestart
	case fs.majorityAway(sp.from, least):
		return PatternQuorum
	case crash && !(sp.kept && least == 0):
		return PatternRestart
	}
	return PatternService
}

// majorityAway reports whether, at t, faults kept so many servers away that no
// majority was left, for at least so long.
func (fs *faults) majorityAway(t, least int64) bool {
	n := fs.rules.Nodes
	if n < 3 {
		return false
	}
	var struck []string
	for _, sp := range fs.service {
		// it splits the servers, and how many stay together is not told
		shaped := sp.target == targetService
		if sp.injected && sp.from <= t && sp.to > t && sp.to-t >= least && !shaped && (crashes(sp) || !degrades(sp)) {
			struck = append(struck, sp.hosts...)
		}
	}
	slices.Sort(struck)
	return n-len(slices.Compact(struck)) < n/2+1
}

// troubles are the faults on a client: those that touch what the lock has
// promised to it, and those that only hold up its application.
func (fs *faults) troubles(client int32) [2][]span {
	c := fs.metBy(client)
	return [2][]span{c.spans, c.aside}
}

// timeOf is for how long faults of a sort lay on a grant's client between its
// beginning and t; those that lasted for no time at all count a nanosecond.
func (fs *faults) timeOf(g *grant, t int64, takes func(span) bool) (sum int64) {
	for _, spans := range fs.troubles(g.client) {
		for _, sp := range spans {
			if sp.from <= t && sp.to >= g.earliest && takes(sp) {
				slack := int64(0)
				if !sp.injected {
					slack = 2 * fs.rules.Stall // see stalledFor
				}
				sum += max(min(sp.to, t)-max(sp.from, g.earliest), 1) + slack
			}
		}
	}
	return sum
}

// blockedBy is for how long the grant's slowest op was under way, if it began
// before t and a fault of the sort lay on the links that it used meanwhile: a
// connection does not go on at once when its link is whole again.
func (fs *faults) blockedBy(g *grant, t int64, takes func(span) bool) int64 {
	if g.slowFrom >= t {
		return 0
	}
	for _, spans := range fs.troubles(g.client) {
		for _, sp := range spans {
			if (sp.links || sp.store) && takes(sp) && sp.from <= g.slowFrom+g.slowFor && sp.to >= g.slowFrom {
				return g.slowFor
			}
		}
	}
	return 0
}

// actedBeside is when the grant first acted after t; exact reports whether it is
// known that it did not act between the two. Without such an act it is the last.
func (g *grant) actedBeside(t int64) (start int64, exact bool) {
	for i, a := range g.remembered() {
		if a.start > t {
			// behind the first there may be some that are not remembered
			exact = i != 1 || g.nacts <= keptActs+1
			if !exact && g.restFrom <= t && t < g.restTo {
				return g.restTo, true
			}
			return a.start, exact
		}
	}
	return g.last, true
}

package checker

import (
	"cmp"
	"slices"
)

// The patterns: what brought a violation about, as far as the history is evidence of it. A kind
// says whose fault a double-hold is; a pattern says how it came about, for every property for which
// that is a question. What the history does not show for certain is several-faults or unexplained.
const (
	// PatternPaused: the holder was stopped, or the application in it stood
	// still, until its lease or session was over, and went on as holder.
	PatternPaused = "expired-while-paused"
	// PatternCutOff: the holder's links to the lock service were disturbed
	// until its lease was over.
	PatternCutOff = "expired-while-cut-off"
	// PatternSessionUnseen: the session ended at the service, and its client,
	// which ran, had not heard of it.
	PatternSessionUnseen = "session-expired-unseen"
	// PatternRenewalStarved: what renews the lease got no processor, while the
	// application worked on.
	PatternRenewalStarved = "renewal-starved"
	// PatternStoreAway: the holder waited for the store, which was out of
	// reach, until its lease was over.
	PatternStoreAway = "store-out-of-reach"
	// PatternWorkedPast: the holder worked for longer than its lease, and no
	// fault is to blame for that.
	PatternWorkedPast = "worked-past-lease"
	// PatternLossIgnored: the lock had told of the loss, and the application went on.
	PatternLossIgnored = KindLossIgnored
	// PatternClockJumped: a clock of the service, or the one that the holder
	// measures its lease by, was wrong.
	PatternClockJumped = "clock-jumped"
	// PatternFailover: a replica took over that had not heard of the grant.
	PatternFailover = "lost-on-failover"
	// PatternRestart: a server died, and came back or was replaced, inside the promise.
	// One that came back with all that it had answered for explains nothing of a lease.
	PatternRestart = "lost-on-restart"
	// PatternQuorum: faults left the service without a majority.
	PatternQuorum = "quorum-lost"
	// PatternService: another fault lay on the service.
	PatternService = "service-disturbed"
	// PatternStolen: a release of an older grant, whose lease was over, freed the key.
	PatternStolen = "stolen-by-release"
	// PatternGrantedTwice: the key was given away inside a promise, and nothing
	// disturbed the service.
	PatternGrantedTwice = "granted-twice"
	// PatternSameIdentity: the lock took a client for its twin, or for its own predecessor.
	PatternSameIdentity = KindSameIdentity
	// PatternReleasedBeforeCommit: the lock was given back while the transaction was open.
	PatternReleasedBeforeCommit = KindReleasedBeforeCommit
	// PatternForeignRenewal: the lock renewed, for a former holder, what was
	// another client's by then.
	PatternForeignRenewal = "foreign-renewal"
	// PatternOwnerUnchecked: the lock answered that a hold stood, or released
	// it, without looking whose the key was.
	PatternOwnerUnchecked = "owner-unchecked"
	// PatternLateRequest: a request that was sent in time arrived when the key
	// was another client's.
	PatternLateRequest = "late-request"
	// PatternLateReply: the answer to an acquire came when the lease was over,
	// and was taken for a grant.
	PatternLateReply = "late-reply"
	// PatternNeverExpired: a client vanished with a grant, or in an acquire,
	// and the key stayed taken.
	PatternNeverExpired = "never-expired"
	// PatternReleaseLost: every grant was given back, and the key stayed taken.
	PatternReleaseLost = "release-without-effect"
	// PatternTokens: tokens did not rise, and nothing disturbed the service.
	PatternTokens = "tokens-not-rising"
	// PatternSeveral: faults of more than one sort explain it, and the history
	// does not show which did.
	PatternSeveral = "several-faults"
	// PatternUnexplained: nothing in the history explains it.
	PatternUnexplained = "unexplained"
)

// Pattern is one of the patterns, with what it means.
type Pattern struct {
	Name string
	// Says completes "all by the same pattern: …".
	Says string
}

// Patterns lists them in the order in which groups of equal size are shown.
func Patterns() []Pattern { return slices.Clone(patterns[:]) }

var patterns = [...]Pattern{
	{PatternPaused, "holder paused past its TTL"},
	{PatternCutOff, "holder cut off from the lock service past its TTL"},
	{PatternSessionUnseen, "session ended, and its client had not heard of it"},
	{PatternRenewalStarved, "renewal starved while the application worked on"},
	{PatternStoreAway, "holder waited for the store past its TTL"},
	{PatternWorkedPast, "holder worked past its TTL, with no fault to blame"},
	{PatternLossIgnored, "holder was told of the loss and went on"},
	{PatternClockJumped, "a clock was wrong"},
	{PatternFailover, "grant lost on failover"},
	{PatternRestart, "grant lost when a server restarted"},
	{PatternQuorum, "lock service lost its majority"},
	{PatternService, "key given away while a fault lay on the lock service"},
	{PatternStolen, "key freed by the late release of a former holder"},
	{PatternGrantedTwice, "key given away while promised, with the lock service undisturbed"},
	{PatternSameIdentity, "the lock took two clients of one identity for one"},
	{PatternReleasedBeforeCommit, "lock released before the transaction was committed"},
	{PatternForeignRenewal, "a former holder renewed another client's lock"},
	{PatternOwnerUnchecked, "the lock did not look whose the key was"},
	{PatternLateRequest, "request sent in time, arrived late"},
	{PatternLateReply, "acquire answered when the lease was already over"},
	{PatternNeverExpired, "holder vanished, and its grant never expired"},
	{PatternReleaseLost, "released, and the key stayed taken"},
	{PatternTokens, "tokens do not rise with the grants"},
	{PatternSeveral, "faults of several sorts, any of which explains it"},
	{PatternUnexplained, "nothing in the history explains it"},
}

// PatternSays says what a pattern means; empty for one that there is not.
func PatternSays(name string) string {
	for _, p := range patterns {
		if p.Name == name {
			return p.Says
		}
	}
	return ""
}

// PatternGroup is the violations of one pattern, over all properties.
type PatternGroup struct {
	Pattern string `json:"pattern"`
	Says    string `json:"says"`
	// Counts are how many violations of each property are of the pattern, in
	// the order of Properties().
	Counts []PropertyCount `json:"counts"`
}

// PropertyCount is how many violations of a property there are.
type PropertyCount struct {
	Property string `json:"property"`
	Count    int    `json:"count"`
}

// patternGroups puts the violations of all keys into groups: the largest first,
// by the number of double-holds, then of all.
func patternGroups(found *tally) []PatternGroup {
	var groups []PatternGroup
	for _, pattern := range patterns {
		g := PatternGroup{Pattern: pattern.Name, Says: pattern.Says}
		for _, p := range properties {
			n := 0
			for _, e := range found.entries {
				if e.property == p && e.pattern == pattern.Name && !e.stallOnly {
					n += e.n
				}
			}
			if n > 0 {
				g.Counts = append(g.Counts, PropertyCount{p.Name, n})
			}
		}
		if len(g.Counts) > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b PatternGroup) int {
		return cmp.Or(cmp.Compare(b.Of(MutualExclusion), a.Of(MutualExclusion)), cmp.Compare(b.Total(), a.Total()))
	})
	return groups
}

// SamePattern reports whether there are several violations, and one pattern that explains them all.
func (v *Verdict) SamePattern() bool {
	return len(v.Patterns) == 1 && v.Patterns[0].Total() > 1 && v.Patterns[0].Pattern != PatternUnexplained
}

// Of is how many violations of a property are in the group.
func (g PatternGroup) Of(property string) int {
	for _, c := range g.Counts {
		if c.Property == property {
			return c.Count
		}
	}
	return 0
}

// Total is how many violations are in the group.
func (g PatternGroup) Total() (n int) {
	for _, c := range g.Counts {
		n += c.Count
	}
	return n
}

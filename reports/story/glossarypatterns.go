package story

import "github.com/lockchaos/lockchaos/checker"

// patternExamples has one for every pattern. What to do about it is its remedy.
var patternExamples = map[string][]Step{
	checker.PatternPaused:         onLease(Step{100, "A", "its process is stopped for 900 ms"}, Step{510, "B", "acquires the key"}, Step{1000, "A", "!goes on, and writes"}),
	checker.PatternCutOff:         onLease(Step{100, "A", "can't reach the lock service any more, and can't renew"}, Step{510, "B", "acquires the key"}, Step{600, "A", "!writes: the store it can reach"}),
	checker.PatternSessionUnseen:  {{0, "A", "acquires the key for as long as its session lives"}, {400, "service", "ends A's session"}, {401, "B", "acquires the key"}, {500, "A", "!writes: nobody told it"}},
	checker.PatternRenewalStarved: onLease(Step{100, "A", "its renewals get no processor, while its work goes on"}, Step{510, "B", "acquires the key"}, Step{600, "A", "!writes"}),
	checker.PatternStoreAway:      onLease(Step{100, "A", "asks the store, which does not answer"}, Step{510, "B", "acquires the key"}, Step{700, "A", "!gets its answer, and writes"}),
	checker.PatternWorkedPast:     onLease(Step{10, "A", "works for 700 ms, and nobody renews the lease"}, Step{510, "B", "acquires the key"}, Step{710, "A", "!writes"}),
	checker.PatternLossIgnored:    onLease(Step{300, "A", "is told that it has lost the key"}, Step{310, "B", "acquires the key"}, Step{400, "A", "!writes all the same"}),
	checker.PatternClockJumped:    onLease(Step{100, "service", "its wall clock jumps forward by a minute: A's lease is over"}, Step{110, "B", "acquires the key"}, Step{200, "A", "!writes inside its lease"}),
	checker.PatternFailover:       onLease(Step{5, "service", "its primary dies before the replica has heard of the grant"}, Step{50, "B", "!acquires the key from the replica"}),
	checker.PatternRestart:        onLease(Step{100, "service", "its server dies, and comes back without what it knew"}, Step{150, "B", "!acquires the key"}),
	checker.PatternQuorum:         onLease(Step{100, "service", "a majority of its servers is away, so A can't renew"}, Step{900, "B", "acquires the key from those that came back"}, Step{950, "A", "!writes"}),
	checker.PatternService:        onLease(Step{100, "service", "is disturbed"}, Step{200, "B", "!acquires the key, while it is promised to A"}),
	checker.PatternStolen:         onLease(Step{510, "B", "acquires the key"}, Step{600, "A", "releases the key by its name alone"}, Step{610, "C", "!acquires the key beside B"}),
	checker.PatternGrantedTwice:   onLease(Step{200, "B", "!acquires the key, and nothing was disturbed"}),
	checker.PatternForeignRenewal: onLease(Step{510, "B", "acquires the key"}, Step{600, "A", "renews the lock, and is told yes"}, Step{610, "A", "!writes beside B"}),
	checker.PatternOwnerUnchecked: onLease(Step{510, "B", "acquires the key"}, Step{600, "A", "!asks whether it holds the key, and is told yes from memory"}),
	checker.PatternLateRequest:    onLease(Step{490, "A", "sends its write, which lies on the wire"}, Step{510, "B", "acquires the key, and writes"}, Step{700, "store", "!gets A's write, and takes it"}),
	checker.PatternLateReply:      {{0, "A", "sends its acquire, with a lease of 500 ms"}, {1, "service", "grants it; the answer lies on the wire"}, {510, "B", "acquires the key"}, {600, "A", "!gets the answer, and takes it for a grant"}},
	checker.PatternNeverExpired:   {{0, "A", "acquires the key, without an end"}, {100, "A", "dies"}, {60000, "B", "!still waits"}},
	checker.PatternReleaseLost:    {{0, "A", "acquires the key"}, {100, "A", "releases the key, and is told that this worked"}, {5000, "B", "!is told that the key is taken"}},
	checker.PatternTokens:         {{0, "A", "acquires the key with token 7, and releases it"}, {100, "B", "!acquires the key with token 7, or 3, and no server had died"}},
	checker.PatternSeveral:        onLease(Step{100, "A", "its process is stopped for 900 ms"}, Step{100, "service", "its clock jumps forward by a minute"}, Step{510, "B", "acquires the key"}, Step{1000, "A", "!writes: either alone would explain it"}),
	checker.PatternUnexplained:    {{0, "A", "acquires the key"}, {50, "B", "acquires the key"}, {60, "A", "!writes, and the log tells of no fault and no lease"}},
}

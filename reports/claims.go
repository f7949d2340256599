package reports

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// told is what the pages say about a property besides the checker's own sentence about a violation.
type told struct {
	// demands says what holds when it is not violated.
	demands string
	// headline is the page's, where this property is the worst that was violated; for one violation, and for more. Empty: the violation's own sentence.
	once, more string
	// lead and advice say what to do about it, when it was violated.
	lead, advice string
}

// propertyTexts are the properties in words.
var propertyTexts = map[string]told{
	checker.MutualExclusion: {demands: "At most one client acts as the holder of a key."},
	checker.UnfencedWrite:   {demands: "The store takes no write of an older grant after one of a newer grant."},
	checker.LostUpdate:      {demands: "A write replaces the version that its client has read, never one it has not seen."},
	checker.TokenOrder: {demands: "A later grant never has a smaller fencing token than an earlier one.",
		lead: "The tokens do not fence.", advice: " A later grant carried a smaller fencing token, or one that another grant has too, so a store that checks them can refuse the " +
			"rightful holder and trust the stale one."},
	checker.StuckLock: {demands: "After healing, a fresh client can acquire every key.",
		once: "A key stayed locked though nobody could hold it", more: "A key stayed locked though nobody could hold it",
		lead: "A key stayed locked with nobody to release it.", advice: " Look for a grant without an expiry, a session that nobody ended, or a " +
			"waiter whose queue entry outlived it."},
	checker.DuplicateEffect: {demands: "What must be done once is done once: no order is charged twice, no tick runs twice.",
		lead: "Make the effect itself repeatable.", advice: " A lock with a lease makes it rare that work is done twice; it cannot exclude it. Give every order or tick a key of its own that whoever carries it " +
			"out refuses the second time (an idempotency key, a unique row, a write on condition of the version)."},
	checker.Continuity: {demands: "The lock confirms a hold only as long as no other client has been granted the key.",
		once: "The lock confirmed a hold that it had given away", more: "The lock confirmed holds that it had given away",
		lead: "Do not trust this lock's word.", advice: " It answered that a hold still stood when another client had the key. Look for an answer that is given from memory, or a renewal or release " +
			"that does not compare the owner."},
	checker.DeadGrant: {demands: "A successful acquire returns before its lease has run out.",
		once: "A lock was granted when its lease was already over", more: "Locks were granted when their leases were already over",
		lead: "Measure the time that the acquire took.", advice: " The lease runs from the moment that the request is sent. What is left when the answer arrives is the TTL less that time, " +
			"and if nothing is left, the acquire has failed."},
	checker.StolenRelease: {demands: "A release after the end of the lease frees nobody else's grant.",
		once: "A late release freed another client's lock", more: "Late releases freed other clients' locks",
		lead: "Compare the owner in the release.", advice: " A client whose lease is over must not delete the key of whoever came after it. Store a value of its own with every grant, and " +
			"delete only if it is still there, in one step at the service."},
	checker.FIFO: {demands: "Waiters get the key in the order in which they joined its queue.",
		once: "A waiter was overtaken in a queue that is declared fair", more: "Waiters were overtaken in a queue that is declared fair",
		lead: "The queue is not one.", advice: " This lock declares to grant in the order of its queue, and did not. Look at what decides who is next once the holder has gone: the queue, or whoever asks first."},
	checker.Starvation: {demands: "Nobody waits while everybody else gets the key again and again.",
		once: "A waiter was passed over again and again", more: "Waiters were passed over again and again",
		lead: "Let waiters queue.", advice: " Where chance or the speed of a client decides who is next, somebody may wait without end. A lock with a queue bounds the wait by the number of waiters."},
	checker.Deadlock: {demands: "Clients that need several keys do not wait for each other in a circle.",
		once: "Clients waited for each other in a circle", more: "Clients waited for each other in circles",
		lead: "Take several locks in one order.", advice: " If every client takes the keys in the same order there is no circle. Where that cannot be, ask for the second one with a short deadline, give everything back " +
			"when it passes, and try again after a random pause."},
	checker.Herd: {demands: "A release costs the same number of requests, however many clients wait.",
		once: "Every release woke a herd of waiters", more: "Every release woke a herd of waiters",
		lead: "Watch only the one before.", advice: " All waiters look at the same thing, so each release makes all of them ask, and one of them wins. A waiter that watches only its predecessor in the queue " +
			"is woken when it is its turn."},
}

// propertyWords says what a property demands.
func propertyWords(name string) string { return propertyTexts[name].demands }

// alone is the headline of a run in which nobody held a key at the same time as another, by the violation that is told.
func alone(s Scenario, v *checker.Violation) string {
	words := propertyTexts[v.Property]
	if s.count(v.Property) == 1 {
		return words.once
	}
	return words.more
}

// violationAdvice says what to do about the violated properties that have an advice of their own.
func violationAdvice(s Scenario) []prose {
	var out []prose
	for _, name := range s.violatedNames() {
		if words := propertyTexts[name]; words.lead != "" {
			out = append(out, prose{}.b(words.lead).t(words.advice))
		}
	}
	return out
}

// repeated says how often something was done twice; empty when nothing was.
func repeated(s Scenario) string {
	n := s.count(checker.DuplicateEffect)
	if n == 0 {
		return ""
	}
	what, did, again := "effect", "was repeated", "were repeated"
	switch s.noted().workload {
	case "payment":
		what, did, again = "order", "was charged twice", "were charged twice"
	case "leader":
		what, did, again = "tick", "ran twice", "ran twice"
	}
	if n == 1 {
		return "1 " + what + " " + did
	}
	return plural(n, what) + " " + again
}

// unlocked tells whether there is no lock: nothing claims that clients exclude each other.
func unlocked(h *history.Header) bool { return h != nil && h.Claims.Permits == 0 }

// excluded tells whether it was judged, and found, that clients exclude each other.
func (s Scenario) excluded() bool {
	p := s.property(checker.MutualExclusion)
	return p != nil && p.Outcome == checker.Pass
}

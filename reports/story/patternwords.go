package story

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
)

// patternMeanings explains each pattern to somebody who has never met it: what
// went on, and whose affair it is.
var patternMeanings = map[string]string{
	checker.PatternPaused: "A lease is a promise with an end. The holder's process stood still until that end had passed, and the lock service lawfully gave the key to another client. " +
		"A process that stands still can't notice that time passes, so the holder went on as before.",
	checker.PatternCutOff:         "The holder could not reach the lock service until its lease was over, so it could neither renew the lease nor learn that the key was another's. Its way to the store was open.",
	checker.PatternSessionUnseen:  "The lock service had ended the holder's session and given the key to another client. The holder's program ran all the while, and nothing had told it; or its lock did not pass it on.",
	checker.PatternRenewalStarved: "The lock is renewed in the background. That part of the program got no processor until the lease was over, while the part that does the work ran on and noticed nothing.",
	checker.PatternStoreAway:      "The holder waited for the store, with a request that had no answer, until its lease was over. When the answer came at last, it did not look whether it still held the lock.",
	checker.PatternWorkedPast:     "The work took longer than the lease lasts, and nobody renewed the lease. No fault was needed: the TTL is too short for this work, or the work needs to renew it.",
	checker.PatternLossIgnored:    "The lock did tell its client that it had lost the key. The application went on all the same: it acts on what it was told at the beginning, and does not listen for news.",
	checker.PatternClockJumped:    "Somebody measured the lease by a clock that was wrong: a server that took the time of day for a measure and ended the lease too early, or the holder, which believed that it had time left.",
	checker.PatternFailover:       "A server granted the lock and told its replica only afterwards. Before it could, the replica took over, knew nothing of the grant, and gave the key to another client.",
	checker.PatternRestart:        "What the lock service had granted was lost when a server died. The server that answered afterwards knew nothing of it and gave the key, or the token, again.",
	checker.PatternQuorum:         "Too many servers were away for the service to decide anything, so leases could not be kept alive. When a majority was back, the key was free for another client.",
	checker.PatternService:        "A fault lay on the lock service, and meanwhile it gave a key away that it had promised to somebody. The history does not show by which way it forgot.",
	checker.PatternStolen: "A client released the lock after its lease was over, and the release was not refused: it took the key from whoever held it by then, and the next client got in beside that one. " +
		"A release must only ever free the client's own grant.",
	checker.PatternGrantedTwice:         "The lock gave the key to a second client while the first one's grant was good, and no fault touched the lock service. This is a defect of the lock, not bad luck.",
	checker.PatternSameIdentity:         "The lock knows its clients by a name, and two clients had the same one: a clone, a restored copy, or a fresh process in the place of one that died. It found that name with the key and took the second for the first.",
	checker.PatternReleasedBeforeCommit: "What a transaction wrote can be seen when it is committed. The application gave the lock back before, so the next holder began with what was there before. The lock did what it was asked.",
	checker.PatternForeignRenewal:       "A client renewed a lock that was another client's by then, and was told that this worked. The renewal does not look whose the key is, so a former holder believes that it still holds.",
	checker.PatternOwnerUnchecked:       "The lock confirmed to a former holder that it still held the key, though another client had been granted it. The answer came from memory, or without a look at the owner.",
	checker.PatternLateRequest:          "The client sent its write while it rightfully held the lock. The write was long under way and arrived when another client held it. No lock can help here; a store that checks fencing tokens can.",
	checker.PatternLateReply:            "The lease began to run when the request was sent. The answer took longer than the lease lasts, and the client took it for a grant though nothing was left of it.",
	checker.PatternNeverExpired:         "A client that had the key, or was about to get it, died. Nothing ends its grant by itself, so nobody else can have the key, ever.",
	checker.PatternReleaseLost:          "Every client had given the key back, and was told so. The lock service holds it all the same, for nobody.",
	checker.PatternTokens:               "A fencing token tells the newer grant from the older one by being greater. Here it was not, with no server having died: a store that trusts these tokens can refuse the wrong client.",
	checker.PatternSeveral:              "Faults of more than one sort lay on it, and each alone would have been enough. The history does not show which one it was.",
	checker.PatternUnexplained:          "Nothing that the history tells of explains it: no fault, no lease that is known to have ended. A log tells what clients did, and seldom why.",
}

// PatternMeans explains a pattern, with what the history knows.
func PatternMeans(s reports.Scenario, pattern string) string {
	if pattern == checker.PatternGrantedTwice && s.History != nil && reports.OfOthers(&s.History.Header) {
		return "The lock gave the key to a second client while the first one's grant was good. The history does not tell what befell the lock service meanwhile."
	}
	return patternMeanings[pattern]
}

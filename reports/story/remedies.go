package story

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
)

// Remedy is one thing to do, and the section of docs/remedies.md that says
// more; a page shows each section once.
type Remedy struct {
	Lead string
	Text Prose
	More *section

	Place string
}

// do makes a remedy. place names a section of docs/remedies.md, "" for none.
func do(lead, text, place string) Remedy {
	return Remedy{Lead: lead, Text: quote(text), Place: place}
}

// lossIgnored is what to do about news of a loss that changed nothing.
var lossIgnored = do("Listen for the loss while the work goes on.",
	"The lock told its client that it had lost the key, and the application did not stop. Give the work a context that ends with the lock.",
	"news-of-a-loss")

// patternRemedies say what to do about each pattern. What helps against several
// of them is said by the lock and its store: see fenceRemedy.
var patternRemedies = map[string]Remedy{
	checker.PatternPaused: do("Let the store refuse what comes after a pause.",
		"The whole process stood still, so neither a check nor a renewal inside it can help. Only the store can tell that its write is late.", "fencing-tokens"),
	checker.PatternCutOff: do("Stop by a clock of your own when the lock service can't be reached.",
		"A client that is cut off hears of no loss. It must stop when its last confirmed renewal is older than the TTL.", "news-of-a-loss"),
	checker.PatternSessionUnseen: do("Stop the work when the session ends.",
		"Watch the session, and give the work a context that ends with it. Where the lock's library knows of the loss and does not pass it on, the library needs the repair.", "news-of-a-loss"),
	checker.PatternRenewalStarved: do("Let the work look when the lease was last renewed.",
		"A renewal in the background can starve while the work goes on. The work must stop when the last confirmed renewal is older than the TTL.", "renewal"),
	checker.PatternStoreAway: do("Give requests to the store a deadline inside the lease.",
		"The holder waited for the store longer than its lease lasts. When the answer comes late it must look at the clock, and acquire again.", "deadlines"),
	checker.PatternWorkedPast: do("Choose a TTL that is longer than the work, or renew the lease while it goes on.",
		"No fault was needed here: the work took longer than the lease. Measure its slowest run, not its mean.",
		"renewal"),
	checker.PatternLossIgnored: lossIgnored,
	checker.PatternClockJumped: do("Measure leases on a monotonic clock, and leave a margin.",
		"A wrong clock ended the lease too early for one side or too late for the other. A fence needs no clock.",
		"clocks"),
	checker.PatternFailover: do("Do not let a replica take over that may not know the grant.",
		"Replication that answers first and copies later loses the last grants at a failover. Use a service that agrees on each grant by consensus.", "what-the-service-remembers"),
	checker.PatternRestart: do("Keep grants through a crash.",
		"Let the server write each grant to disk before it answers. Or keep a server that came back out of the quorum for one TTL.", "what-the-service-remembers"),
	checker.PatternQuorum: do("Spread the servers, and stop the holder when a majority is gone.",
		"Leases could not be kept alive, and the holder went on. A holder that can't renew must stop by its own clock.",
		"what-the-service-remembers"),
	checker.PatternService: do("Find out what the lock service forgets under this fault.",
		"It gave a key away that it had promised. Look for the grant in its log and its replicas, before and after the fault.", "what-the-service-remembers"),
	checker.PatternStolen: do("Compare the owner in the release.",
		"A client whose lease is over must not delete the key of its successor. Store a value of its own with every grant, and delete only that value, in one step at the service.", "owner-checks"),
	checker.PatternGrantedTwice: do("Repair the acquire, or use another lock.",
		"It gave the key to two clients with nothing disturbed. Look for a test and a set that are two steps, or a key that is built differently.", "a-defect-of-the-lock"),
	checker.PatternSameIdentity: do("Give each instance an identity of its own.",
		"Let the lock draw a random value for each grant, and compare that. A configured name, a host's name and a process's number can all come twice.", "names-that-come-twice"),
	checker.PatternReleasedBeforeCommit: do("Commit before you release.",
		"Hold the lock around the transaction, and not inside it: take it before the transaction begins, and release it when the commit was answered.", "transactions-and-locks"),
	checker.PatternForeignRenewal: do("Compare the owner in the renewal.",
		"A former holder renewed the lock of another client, and was told that it still holds it. Prolong the key only if it has the client's own value, in one step at the service.", "owner-checks"),
	checker.PatternOwnerUnchecked: do("Ask the service who holds the key, and compare the owner.",
		"The lock confirmed a hold that another client had by then. An answer from memory, or one without the owner, is no answer.", "owner-checks"),
	checker.PatternLateRequest: do("Let the store refuse late requests.",
		"The write was sent in time and arrived late. No lock and no check at the client can stop a packet that is under way.", "deadlines"),
	checker.PatternLateReply: do("Subtract the time that the acquire took.",
		"The lease runs from the moment that the request is sent. If nothing is left when the answer comes, the acquire has failed.", "deadlines"),
	checker.PatternNeverExpired: do("Give every grant an end.",
		"A client died, and its grant stays for ever. Set the expiry in the same request as the grant, or tie it to a session with a timeout.", "an-end-for-every-grant"),
	checker.PatternReleaseLost: do("Look at what the release removes.",
		"The release was answered, and the key stays taken. It may remove another value, ask another node, or leave an entry in a queue.", "an-end-for-every-grant"),
	checker.PatternTokens: do("Draw tokens in the step that grants the lock, from a counter that survives.",
		"A later grant carried a smaller token, or one that another grant has too. A store that checks them can refuse the rightful holder and trust the stale one.", "fencing-tokens"),
	checker.PatternSeveral: do("Run the faults one by one.",
		"Each of them alone explains what happened. `lockchaos shrink` finds the smallest scenario that still shows it.", "evidence-not-proof"),
	checker.PatternUnexplained: do("Look for what the history does not tell.",
		"No recorded fault and no lease that ended explains it. Compare the steps below with the logs of the lock service and the clients.", "a-defect-of-the-lock"),
}

// kindRemedies say what to do about kinds that are the same whatever the pattern.
var kindRemedies = map[string]Remedy{
	checker.KindGrantedWhileValid: do("Report it to those who make the lock.",
		"It gave a key away that it had promised to another client: that is a defect, whatever the faults. The history is the proof.", "a-defect-of-the-lock"),
	checker.KindSameIdentity: do("Report it to those who make the lock.",
		"It makes its clients' names of what is not unique. Pods have the process number 1, and a clone has the name of its host.", "names-that-come-twice"),
	checker.KindConfiguredIdentity: do("Configure a name for each instance.",
		"Two were given the same one. Add what is drawn anew at each start: client-go's examples use the host's name and a UUID.", "names-that-come-twice"),
	checker.KindReleasedBeforeCommit: do("Commit before you release.",
		"Hold the lock around the transaction, and not inside it: take it before the transaction begins, and release it when the commit was answered.", "transactions-and-locks"),
	checker.KindGrantedDead: do("Look at the clock when the acquire returns.",
		"The client was away while it waited, and its lease or session ended meanwhile. Take the time since the attempt off, or look whether the session still stands, before granting.", "deadlines"),
	checker.KindLateNotice: do("Report it to those who make the lock.",
		"It told its client of the loss later than it says it does: that is a defect, whatever the faults. The history is the proof.", "a-defect-of-the-lock"),
	checker.KindLossIgnored: lossIgnored,
	checker.KindGhost: do("End the attempt of a client that was told no.",
		"A client that was told no occupied the key until it was closed. Withdraw its request, or its place in the queue, when it gives up.", "an-end-for-every-grant"),
	checker.KindAsleep: do("Let a waiter look at the key again from time to time.",
		"A notice was lost, or came before the waiter listened for it. Listen first, then look; and look again after a while.", "a-defect-of-the-lock"),
	checker.KindWedged: do("Report it to those who make the lock.",
		"Nobody held the key and nobody got it. Look at what each waiter waits for, and who was to wake it.",
		"a-defect-of-the-lock"),
	checker.KindShutOut: do("Connect again, and make a new session, when the old one has gone.",
		"A client got nothing but errors any more, and only a fresh process would have helped. Look at what it keeps after an error: a connection, a session, a thread that has ended.",
		"a-defect-of-the-lock"),
	checker.KindEffectTwice: do("Mark the tick as done in the transaction of its effect.",
		"Between an effect and a mark of its own an instance may die. One transaction has both or neither. It must fail where the tick is done, or is another instance's by now.",
		"effects-that-come-exactly-once"),
	checker.KindEffectLost: do("Mark the tick as done in the transaction of its effect.",
		"An instance may die between a mark of its own and the effect. One transaction has both or neither, so another instance finds the tick not done.",
		"effects-that-come-exactly-once"),
	checker.KindNeverExpired: do("Give every grant an end.",
		"A grant outlived its holder. Set the expiry in the same request as the grant, or tie it to a session with a timeout.", "an-end-for-every-grant"),
}

// The most patterns that a page has remedies for. The violations' own part of
// the page has them all.
const remediedPatterns = 2

// causes are the remedies for what was violated: for the pattern of the violation
// that is told, for the others, for its kind, and for what has no pattern.
func causes(s reports.Scenario, told *checker.Violation) []Remedy {
	var out []Remedy
	var patterns []string
	if told != nil && told.Pattern != "" {
		patterns = append(patterns, told.Pattern)
	}
	for _, g := range s.Verdict.Patterns {
		if !slices.Contains(patterns, g.Pattern) {
			patterns = append(patterns, g.Pattern)
		}
	}
	for _, p := range patterns[:min(len(patterns), remediedPatterns)] {
		if r, ok := patternRemedies[p]; ok {
			out = append(out, r)
		}
	}
	if told != nil {
		if r, ok := kindRemedies[told.Kind]; ok {
			out = append(out, r)
		}
	}
	return append(out, propertyRemedies(s)...)
}

// propertyRemedies are those for the violated properties of which some violations have no pattern,
// and for effects that were repeated: those must be made harmless, whatever brought them about.
func propertyRemedies(s reports.Scenario) []Remedy {
	var out []Remedy
	for _, name := range s.ViolatedNames() {
		words := checker.Named(name).Words
		plain := s.Count(name)
		for _, g := range s.Verdict.Patterns {
			plain -= g.Of(name)
		}
		if words.Lead != "" && (plain > 0 || name == checker.DuplicateEffect) {
			place := ""
			switch name {
			case checker.OncePerTick:
				place = "effects-that-can-be-repeated"
			case checker.ReleasedOnStop:
				place = "an-orderly-stop"
			}
			out = append(out, do(words.Lead, words.Advice, place))
		}
	}
	return out
}

// unfold gives each remedy its section, the first that names it, and leaves out
// what was said before.
func unfold(all []Remedy) []Remedy {
	var out []Remedy
	leads, places := map[string]bool{}, map[string]bool{}
	for _, r := range all {
		if leads[r.Lead] {
			continue
		}
		leads[r.Lead] = true
		if r.Place != "" && !places[r.Place] {
			places[r.Place] = true
			r.More = remedySections()[r.Place]
		}
		out = append(out, r)
	}
	return out
}

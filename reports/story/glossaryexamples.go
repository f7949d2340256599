package story

import "github.com/lockchaos/lockchaos/checker"

// example shows a term. It says what to do only of a term for which no page has a remedy.
type example struct {
	steps []Step
	do    string
}

// onLease is how most examples begin: A is granted the key until 500 ms.
func onLease(rest ...Step) []Step {
	return append([]Step{{0, "A", "acquires the key, with a lease until 500 ms"}}, rest...)
}

// releasedFirst is a transaction that ends in the wrong order.
var releasedFirst = []Step{{0, "A", "acquires the key, begins a transaction, and writes version 2 in it"},
	{10, "A", "releases the key"}, {20, "B", "acquires the key, and reads version 1"}, {30, "A", "!commits version 2"}}

// doFence is what to do about several terms.
const doFence = "Let the store check a fencing token, and refuse a write with a smaller one than it has seen."

// examples has one for every term, by its sort and word. The test of the
// glossary says which are missing.
var examples = map[string]example{
	"verdict pass": {onLease(Step{40, "A", "reads and writes"}, Step{60, "A", "releases the key"},
		Step{61, "B", "acquires the key"}),
		"Nothing. It is evidence and no proof: look further with other seeds (--repeat), longer runs (--duration) and the suites full and directed."},
	"verdict contained": {onLease(Step{100, "A", "stands still for 900 ms"},
		Step{510, "B", "acquires the key with token 2, and writes"}, Step{1000, "A", "writes with token 1"},
		Step{1001, "store", "!refuses token 1, having seen 2"}),
		"Keep the fence. A client whose write is refused has lost the lock: it drops its work, acquires again, and reads afresh."},
	"verdict corrupted": {onLease(Step{100, "A", "stands still for 900 ms"},
		Step{510, "B", "acquires the key, and writes"}, Step{1000, "A", "writes what it computed before"},
		Step{1001, "store", "!takes it: B's update is lost"}),
		doFence + " Or let each write be on condition of the version that was read."},
	"verdict violated": {onLease(Step{200, "B", "!acquires the key, while it is promised to A"},
		Step{210, "A", "releases the key"}),
		"Look which property is violated, and explain that. The data was spared by luck in this run."},
	"verdict inconclusive": {[]Step{{0, "fault", "is to freeze the holder"}, {0, "A", "waits, and holds nothing"},
		{900, "fault", "!has frozen nobody who held the key"}},
		"Read the reason above it. Most often a longer run helps (--duration), or a less busy machine. It is never a pass."},
	"verdict skipped": {[]Step{{0, "lockchaos", "!finds no program to start the service with, and runs nothing"}},
		"Read the reason, and run lockchaos doctor: it says what is missing and how to get it. A skip is never a pass."},
	"verdict failed": {[]Step{{0, "lockchaos", "starts the service"},
		{300, "service", "!ends with an error, and nobody meant it to"}},
		"Read the error and the logs in the scenario's folder. What was recorded until then is judged: a violation in it is certain."},
	"verdict not judged": {[]Step{{0, "lock", "!claims no fencing token, so " + checker.TokenOrder + " is not judged"}},
		"If you rely on the property, use a lock that claims it. A policy that names the property fails where it is not judged."},
	"verdict untested": {onLease(Step{100, "A", "stands still for 900 ms"}, Step{510, "B", "acquires the key"},
		Step{1000, "A", "!goes on as holder, and writes nothing"}),
		"Take it for luck. Run again with other seeds, or with a workload that writes more, to see whether the store refuses a stale write."},
	"verdict corrupting": {onLease(Step{510, "B", "acquires the key, and writes"},
		Step{700, "A", "!writes, and the store takes it"}), doFence},
	"verdict either": {onLease(Step{450, "A", "stands still for 100 ms"},
		Step{551, "A", "!writes: B may have been granted the key by then, or not"}),
		"Nothing. To learn how often it happens, repeat the run (--repeat 20): the table gives the rate with its interval."},

	"property " + checker.MutualExclusion: {onLease(Step{510, "B", "acquires the key"},
		Step{600, "A", "!writes as holder"}, Step{700, "B", "writes as holder"}),
		"Look at the kind. A lease-overrun happens to every lease: " + doFence +
			" Any other kind is a defect of the lock."},
	"property " + checker.UnfencedWrite: {onLease(Step{510, "B", "acquires the key, and writes version 2"},
		Step{600, "A", "!writes version 3, and the store takes it"}), doFence},
	"property " + checker.LostUpdate: {onLease(Step{10, "A", "reads version 1"},
		Step{510, "B", "acquires the key, reads version 1, and writes version 2"},
		Step{600, "A", "!writes version 3 over 2, which it never read"}),
		"Let the store take a write only if the version is the one that was read. " + doFence},
	"property " + checker.StaleRead: {steps: releasedFirst},
	"property " + checker.DuplicateEffect: {steps: onLease(Step{10, "A",
		"sees that the order is unpaid, and stands still"}, Step{510, "B", "acquires the key, and charges the order"},
		Step{900, "A", "!charges the order again"})},
	"property " + checker.TokenOrder: {steps: []Step{{0, "A", "acquires the key with token 7, and releases it"},
		{100, "B", "!acquires the key with token 3"}}},
	"property " + checker.Continuity: {steps: onLease(Step{510, "B", "acquires the key"},
		Step{600, "A", "!asks whether it still holds, and is told yes"})},
	"property " + checker.DeadGrant: {steps: []Step{{0, "A", "sends its acquire, with a lease of 500 ms"},
		{1, "service", "grants it until 501 ms"}, {700, "A", "!gets the answer, and takes it for a grant"}}},
	"property " + checker.StolenRelease: {steps: onLease(Step{510, "B", "acquires the key"},
		Step{600, "A", "!releases the key, and is not refused"}, Step{610, "C", "acquires the key beside B"})},
	"property " + checker.StuckLock: {steps: onLease(Step{100, "A", "dies"},
		Step{5000, "C", "!asks for the key, and is told that it is taken"})},
	"property " + checker.FIFO: {steps: []Step{{0, "A", "holds the key"}, {10, "B", "is enqueued"},
		{20, "C", "is enqueued"}, {100, "A", "releases the key"}, {101, "C", "!is granted the key before B"}}},
	"property " + checker.Starvation: {steps: []Step{{0, "A", "asks for the key, and waits"},
		{10, "B, C", "are granted the key 40 times in turn"}, {4000, "A", "!still waits"}}},
	"property " + checker.Deadlock: {steps: []Step{{0, "A", "acquires key 1"}, {1, "B", "acquires key 2"},
		{10, "A", "asks for key 2"}, {11, "B", "!asks for key 1: each waits for the other"}}},
	"property " + checker.Herd: {steps: []Step{{0, "A", "holds the key, and 100 clients wait"},
		{100, "A", "releases the key"}, {101, "100 clients", "!ask the service at once"}}},
	"property " + checker.DeadRenewal: {steps: onLease(Step{400, "A", "sends its renewal"},
		Step{401, "service", "prolongs the lease until 901 ms"},
		Step{1000, "A", "!gets the answer, and takes the lease for renewed"})},
	"property " + checker.FalseBusy: {steps: []Step{{0, "A", "sends its acquire, and the reply is lost"},
		{60, "A", "sends it again"}, {61, "service", "!answers that the key is taken: by A's first request"}}},
	"property " + checker.FalseLoss: {steps: onLease(Step{100, "A", "sends a renewal"},
		Step{101, "service", "!answers that A does not hold the key"})},
	"property " + checker.OncePerTick: {steps: []Step{{0, "A", "executes the tick of 10:00"},
		{20, "A", "marks it as done"}, {120, "B", "!wakes up, and executes the tick of 10:00"}}},
	"property " + checker.Overlap: {steps: []Step{{0, "A", "executes the tick of 10:00"},
		{200, "B", "executes the tick of 10:01"}, {300, "A", "!still works"}}},
	"property " + checker.MissedTick: {steps: []Step{{0, "A", "takes the job's key for 500 ms"}, {20, "A", "has done its work"},
		{200, "B", "!is refused the next tick: the key is still there"}}},
	"property " + checker.StopDeadline: {steps: onLease(Step{510, "A", "is told that its time is over"},
		Step{700, "A", "!writes, and claims to stop within 100 ms"})},
	"property " + checker.Handover: {steps: []Step{{0, "A", "executes a tick"}, {10, "A", "dies"},
		{200, "B", "waits for the job"}, {5000, "B", "!still waits: A's lock has no end"}}},
	"property " + checker.ReleasedOnStop: {steps: []Step{{0, "A", "executes a tick, and its lease is 500 ms"}, {10, "A", "is stopped in order"},
		{200, "B", "is refused the next tick"}, {400, "B", "!is refused the one after it: A has given nothing up"}}},
	"property " + checker.KeptKey: {steps: onLease(Step{10, "A", "releases the key, and the answer is ok"},
		Step{20, "B", "asks for the key, alone"}, Step{510, "B", "!is granted it only when A's lease is over"})},

	"kind " + checker.KindLeaseOverrun: {onLease(Step{100, "A", "stands still for 900 ms"},
		Step{510, "B", "acquires the key, as it should"}, Step{1000, "A", "!goes on as holder"}),
		doFence + " No other lock prevents it. `run --inherent` tells it and does not fail the run."},
	"kind " + checker.KindGrantedWhileValid: {steps: onLease(Step{200, "B",
		"!acquires the key, while it is promised to A"})},
	"kind " + checker.KindSameIdentity: {steps: []Step{{0, "A", "acquires the key as host-1, process 1, with a lease until 500 ms"},
		{200, "B", "asks for the key as host-1, process 1: it is A's clone"},
		{201, "B", "!finds its own name, and takes the key for its own"}}},
	"kind " + checker.KindConfiguredIdentity: {steps: []Step{{0, "A", "acquires the key under the name that it was given, with a lease until 500 ms"},
		{200, "B", "asks for the key, and was given the same name"},
		{201, "B", "!finds its own name, and takes the key for its own"}}},
	"kind " + checker.KindReleasedBeforeCommit: {steps: releasedFirst},
	"kind " + checker.KindGrantedDead: {steps: []Step{{0, "A",
		"waits for the key in a queue, with a session of 500 ms"},
		{100, "A", "is frozen for 900 ms, and its session ends"}, {600, "B", "acquires the key"},
		{1001, "A", "!is told that it has the key, and writes"}}},
	"kind " + checker.KindLateNotice: {steps: []Step{{0, "A",
		"acquires the key; its lock promises to tell a loss within 100 ms"}, {500, "B", "acquires the key"},
		{900, "A", "!has been told nothing, and writes"}}},
	"kind " + checker.KindUnexplained: {[]Step{{0, "A", "acquires the key from a lock that says nothing of an end"},
		{50, "B", "acquires the key"}, {60, "A", "!writes as holder, and nothing disturbed it"}},
		"Say what the lock promises (its validity). With that, the checker can tell a defect from a late holder."},
	"kind " + checker.KindStale: {onLease(Step{510, "B", "acquires the key"}, Step{600, "A", "!begins a write"}),
		doFence},
	"kind " + checker.KindInFlight: {onLease(Step{490, "A", "sends a write, which lies on the wire"},
		Step{510, "B", "acquires the key"}, Step{600, "store", "!gets A's write"}),
		doFence + " No check at the client can stop a packet that is under way."},
	"kind " + checker.KindGhost: {steps: []Step{{0, "A", "asks for the key, and is told no"},
		{5000, "C", "!asks for the key, and is told that it is taken"}, {6000, "A", "is closed, and the key is free"}}},
	"kind " + checker.KindAsleep: {steps: []Step{{0, "A", "holds the key, and B waits for it"},
		{100, "A", "releases the key"}, {5000, "C", "asks for the key, and gets it at once"},
		{5001, "B", "!still waits"}}},
	"kind " + checker.KindWedged: {steps: []Step{{0, "A", "releases the key"},
		{10, "B", "asks for the key, and waits"}, {5000, "B", "!still waits, though nobody holds the key"}}},
	"kind " + checker.KindNeverExpired: {steps: []Step{{0, "A", "acquires the key, and dies"},
		{5000, "C", "asks for the key, and is told that it is taken"},
		{6000, "D", "!is told so too, after every client was closed"}}},

	"kind " + checker.KindTwiceWhileOwned: {[]Step{{0, "A", "looks whether the tick is claimed"}, {1, "B", "looks, too"},
		{2, "A", "claims the tick, and executes it"}, {3, "B", "!claims the tick, and executes it"}}, doReport},
	"kind " + checker.KindReplayed: {[]Step{{0, "A", "executes the tick of 10:00"}, {20, "A", "marks it as done"},
		{120, "B", "!wakes up, and executes the tick of 10:00"}}, doReport},
	"kind " + checker.KindTwiceThoughOnce: {onLease(Step{100, "A", "dies"},
		Step{600, "B", "!executes A's tick again, by a scheduler that claims to do so never"}), doReport},
	"kind " + checker.KindTwiceAfterLoss: {onLease(Step{100, "A", "charges the customer, and dies before it can say so"},
		Step{600, "B", "!executes A's tick again"}), doRepeatable},
	"kind " + checker.KindEffectTwice: {steps: []Step{{0, "A", "charges the customer for the tick of 10:00"},
		{20, "A", "dies before it marks the tick as done"}, {600, "B", "!executes the tick, and charges the customer again"}}},
	"kind " + checker.KindEffectLost: {steps: []Step{{0, "A", "marks the tick of 10:00 as done, before it charges the customer"},
		{20, "A", "dies"}, {600, "B", "!finds the tick done, and nobody charges the customer"}}},
	"kind " + checker.KindOverlapWhileOwned: {[]Step{{0, "A", "executes the tick of 10:00"},
		{200, "B", "executes the tick of 10:01"}, {300, "A", "!still works, as its lock lets it"}}, doReport},
	"kind " + checker.KindOverlapAfterLoss: {onLease(Step{100, "A", "stands still for 900 ms"},
		Step{510, "B", "executes the next tick"}, Step{1000, "A", "!goes on with its own"}), doFence},
	"kind " + checker.KindRanOn: {onLease(Step{510, "A", "is told that its time is over"},
		Step{700, "A", "!writes, and claims to stop within 100 ms"}),
		"Give the work a context that ends with its lease, and look at it before each effect."},
	"kind " + checker.KindWokeLate: {onLease(Step{100, "A", "stands still for 900 ms"},
		Step{1000, "A", "!wakes up, and writes"}), doFence},
}

// doReport and doRepeatable say what to do about kinds of violations by a scheduler.
const (
	doReport     = "Report it to those who make the scheduler: it is a defect, whatever the faults. The history is the proof."
	doRepeatable = "Make the effect of a tick repeatable: by an idempotency key, or by a row for the tick in its transaction."
)

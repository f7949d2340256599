package story

import "github.com/lockchaos/lockchaos/reports"

// FateMeans says what it means that an attack of an exam came to that.
func FateMeans(f reports.Fate) string {
	return [...]string{reports.FellDefect: "The lock broke what it claims, for certain.",
		reports.FellUnclear: "A property was violated, and the record does not show whose affair that is.",
		reports.FellRelied: "A wrong clock, or a service that lost what it knew, let a second client in. " +
			"The lock's code can't help that; another service can.",
		reports.FellInherent: "The holder came after the end of its lease and could not know. " +
			"No lease prevents that; a store that checks fencing tokens contains it.",
		reports.NothingFollows: "The attack was made up to three times, and nothing follows.",
		reports.NotRun:         "The attack failed to run, or was skipped: it says nothing of the lock.",
		reports.Stood:          "No property was violated, and the fault is proven to have struck at least twice."}[f]
}

// attackExamples has one for each fate but inconclusive, which is a verdict, too, and stands there.
var attackExamples = map[string]example{
	reports.Stood.String(): {onLease(Step{100, "A", "stands still for 1250 ms, twice in this run"},
		Step{510, "B", "acquires the key, and writes"}, Step{1360, "A", "!asks the lock, is told that it lost it, and writes nothing"}),
		"Nothing. Look at the attacks that were not applicable or left out: the exam says why."},
	reports.FellDefect.String(): {onLease(Step{450, "A", "sends its release, which is late by 100 ms"}, Step{510, "B", "acquires the key"},
		Step{551, "service", "!deletes the key, though it is B's: the release does not compare the owner"}),
		"Read the report of that attack: it names the property and the operations. Mend the lock, or use one that stands; then repeat the attack (--attack NAME --seed N)."},
	reports.FellUnclear.String(): {[]Step{{0, "A", "asks for the key"}, {0, "B", "asks for the key"},
		{600, "both", "!write as holders, and nothing recorded says why"}},
		"Let the adapter stamp its successful attempts (attempt_ns), and repeat the attack. The report says which line would decide it."},
	reports.FellRelied.String(): {onLease(Step{100, "service", "is restarted, and has forgotten the key"}, Step{150, "B", "acquires the key"},
		Step{200, "A", "!writes within its lease"}),
		"Use a service that keeps what it confirmed, and clocks that are watched. " + doFence},
	reports.FellInherent.String(): {onLease(Step{450, "A", "sees that it still holds the key, and stands still for 1250 ms"},
		Step{510, "B", "acquires the key, and writes"}, Step{1700, "A", "!writes what it computed before"}),
		doFence},
	reports.NotRun.String(): {[]Step{{0, "lockchaos", "starts the service"}, {300, "lock", "!cannot be opened: its adapter ended"}},
		"Read the error, and the logs in the attack's folder. lockchaos adapter test tries the adapter alone."},
}

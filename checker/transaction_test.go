package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestTransactions: a write stands from its commit on, so a lock that is given back before it
// protects nothing; what was rolled back never was.
func TestTransactions(t *testing.T) {
	inTransactions := func(h *history.Header) { h.Workload = history.WorkloadTransaction }
	lock, fenced := plainLock().with(inTransactions), fencedLock().with(inTransactions)
	const late = `
		A acquire [0,1]     tok=1
		A read    [2,3]
		A write   [10,11]   @60
		A release [12,13]
		B acquire [20,21]   tok=2
		B read    [22,23]
		B write   [24,61]   @70
		A commit  [59,61]
		B release [62,63]
		B commit  [69,71]` + probeText
	right := strings.NewReplacer("A release [12,13]", "", "A commit  [59,61]", "A commit  [12,13]\n A release [14,15]",
		"@60", "@12.5", "B release [62,63]", "").Replace(late) + "\nB release [72,73]"
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(late) }
	aborted := replaced("B write   [24,61]   @70", "B write   [24,61] fail", "B commit  [69,71]", "")
	rolledBack := replaced("@60", "", "A commit  [59,61]", "A commit  [59,61] fail")
	killed := replaced("@60", "", "A commit  [59,61]", "kill A [30,31]\n A exit [31]")
	unknown := replaced("A commit  [59,61]", "A commit  [59,61] info")
	unentered := replaced("@60", "")
	overrun := `
		A acquire [0,1]
		A read    [2,3]
		A write   [10,11]   @700
		pause A   [12,690]
		B acquire [600,601]
		B read    [602,603]
		B write   [604,701] @710
		A commit  [11.5,701] start=699
		B commit  [709,711]
		B release [712,713]` + probeText
	answered := strings.Replace(late, "B read    [22,23]", "B read    [22,70]", 1)
	answered = strings.NewReplacer("B write   [24,61]   @70", "B write   [71,101]  @100", "B release [62,63]", "B release [110,111]",
		"B commit  [69,71]", "B commit  [99,101]").Replace(answered)
	const three = `
		A acquire [0,1]     tok=1
		A write   [10,11]   @60
		A release [12,13]
		B acquire [20,21]   tok=2
		B write   [24,71]   @70
		B release [26,27]
		C acquire [30,31]   tok=3
		C read    [32,33]
		A commit  [59,61]
		B commit  [69,71]
		C release [80,81]` + probeText
	const again = `
		A acquire [0,1]     tok=1
		A write   [4,5]
		A write   [6,7]     BROKE
		A release [8,9]
		A acquire [10,11]   tok=2
		A write   [14,15]   @17
		A commit  [16,18]
		A release [20,21]` + probeText
	broke := func(how string) string { return strings.Replace(again, "BROKE", how, 1) }
	run(t, []propertyCase{
		{"a transaction that broke, and the next one", LostUpdate, lock, broke("fail"), Pass, 0, "", ""},
		{"one that the store's fence refused, and the next one", LostUpdate, fenced, broke("refused @6.5"), Pass, 0, "", ""},
		{"one that met a conflict, and the next one", LostUpdate, lock, broke("conflict @6.5"), Pass, 0, "", ""},
		{"release first, and the read is answered after the commit", StaleRead, lock, answered, Violated, 1, KindReleasedBeforeCommit, ""},
		{"two that release first", StaleRead, lock, three, Violated, 2, KindReleasedBeforeCommit, ""},
		{"commit first", LostUpdate, lock, right, Pass, 0, "", ""},
		{"commit first, and read", StaleRead, lock, right, Pass, 0, "", ""},
		{"release first", LostUpdate, lock, late, Violated, 1, KindReleasedBeforeCommit,
			"that was committed at 1.060 s, after the lock had been released at 1.012 s"},
		{"release first, and read", StaleRead, lock, late, Violated, 1, KindReleasedBeforeCommit,
			"released it at 1.012 s, but committed at 1.060 s"},
		{"release first, with tokens", StaleRead, fenced, late, Violated, 1, KindReleasedBeforeCommit, ""},
		{"release first harms no mutual exclusion", MutualExclusion, lock, late, Pass, 0, "", ""},
		{"the reader could not commit", LostUpdate, lock, aborted, Pass, 0, "", ""},
		{"the reader could not commit, but has read", StaleRead, lock, aborted, Violated, 1, KindReleasedBeforeCommit, ""},
		{"rolled back", StaleRead, lock, rolledBack, Pass, 0, "", ""},
		{"rolled back, and lost nothing", LostUpdate, lock, rolledBack, Pass, 0, "", ""},
		{"killed before the commit", StaleRead, lock, killed, Pass, 0, "", ""},
		{"a commit of unknown fate that the ledger has", LostUpdate, lock, unknown, Violated, 1, KindReleasedBeforeCommit, ""},
		{"a commit that the ledger lacks", StaleRead, lock, unentered, Inconclusive, 0, "", "1 op that it does not have"},
		{"a commit that the ledger lacks, and updates", LostUpdate, lock, unentered, Inconclusive, 0, "", "does not have"},
		{"a lease that was outlived", StaleRead, lock, overrun, Violated, 1, "", "which was granted the lock before it"},
		{"a lease that was outlived, and updates", LostUpdate, lock, overrun, Violated, 1, "", "it had never seen"},
		{"a lease that was outlived since the machine stalled", StaleRead, lock, strings.Replace(overrun, "pause", "stall", 1),
			Inconclusive, 0, "", "stall"},
		{"no transactions", StaleRead, plainLock(), right, NotJudged, 0, "", ""},
	})
}

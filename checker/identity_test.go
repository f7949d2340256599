package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestIdentity: a lock that takes a twin, or a client that came back, for the holder is named so;
// whose affair that is, depends on who made the name.
func TestIdentity(t *testing.T) {
	with := func(identity string, twins int) script {
		return plainLock().with(func(h *history.Header) { h.Claims.Identity, h.Twins = identity, twins })
	}
	const twins = `
		A acquire [0,1]
		A read    [2,3]
		B acquire [100,101]
		B read    [102,103]
		A write   [110,111]
		B write   [112,113]
		A release [120,121]
		B release [122,123]` + probeText
	freed := strings.NewReplacer("B write   [112,113]", "B release [112,113]\n C acquire [114,115]\n C read [116,117]",
		"A release [120,121]", "A read [120,121]", "B release [122,123]", "C release [130,131]").Replace(twins)
	const reborn = `
		A acquire [0,1]
		kill A [50,51]
		A exit [51] proc=1
		A acquire [100,101] proc=11
		A read    [102,103] proc=11
		B acquire [505,506]
		B read    [507,508]
		A read    [520,521] proc=11
		B release [530,531]` + probeText
	waited := strings.NewReplacer("[100,101]", "[505,506]", "[102,103]", "[507,508]", "B acquire [505,506]", "",
		"B read    [507,508]", "", "B release [530,531]", "").Replace(reborn)
	released := strings.NewReplacer("kill A [50,51]", "A release [40,41]\n kill A [50,51]").Replace(reborn)
	stalled := strings.NewReplacer("B acquire [100,101]", "stall A [105,600]\n B acquire [510,511]", "B read    [102,103]", "B read [512,513]",
		"A write   [110,111]", "A write [610,611]", "B write   [112,113]", "B write [612,613]", "A release [120,121]", "A release [620,621]",
		"B release [122,123]", "B release [622,623]").Replace(twins)
	run(t, []propertyCase{
		{"no twins", MutualExclusion, with("unique", 0), twins, Violated, 1, KindGrantedWhileValid, ""},
		{"twins, and a name of the lock's own", MutualExclusion, with("unique", 2), twins, Violated, 1, KindSameIdentity,
			"a name of the lock's own making"},
		{"of the process", MutualExclusion, with("process", 2), twins, Violated, 1, KindSameIdentity, ""},
		{"twins, and a configured name", MutualExclusion, with("none", 2), twins, Violated, 1, KindConfiguredIdentity,
			"a name that they were given"},
		{"twins, and no claim", MutualExclusion, with("", 2), twins, Violated, 1, KindConfiguredIdentity, ""},
		{"others than the twins", MutualExclusion, with("host", 2), strings.NewReplacer("B ", "C ").Replace(twins), Violated, 1,
			KindGrantedWhileValid, ""},
		{"one that a twin let in", MutualExclusion, with("host", 2), freed, Violated, 2, KindSameIdentity, ""},
		{"what a twin confirms is no false confirmation", Continuity, with("host", 2), twins, Pass, 0, "", ""},
		{"that of another is one", Continuity, with("host", 0), twins, Violated, 1, "", ""},
		{"twins that exclude each other", MutualExclusion, with("unique", 2),
			strings.NewReplacer("[0,1]", "[0,1]", "B acquire [100,101]", "", "B read    [102,103]", "", "B write   [112,113]", "",
				"B release [122,123]", "").Replace(twins), Pass, 0, "", ""},
		{"twins, and nothing but a stall of the machine", MutualExclusion, with("unique", 2), stalled, Inconclusive, 0, "", "stall"},
		{"reborn, inside its old lease", MutualExclusion, with("process", 0), reborn, Violated, 1, KindSameIdentity,
			"as what its predecessor of the same name left"},
		{"reborn, after its old lease", MutualExclusion, with("process", 0), waited, Pass, 0, "", ""},
		{"reborn, when its predecessor had released", MutualExclusion, with("process", 0), released, Violated, 1,
			KindGrantedWhileValid, ""},
	})
}

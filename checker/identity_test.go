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
		{"reborn, after its old lease, and another inside its own", MutualExclusion, with("process", 0),
			strings.NewReplacer("A read    [520,521] proc=11", "B acquire [600,601]\n B read [602,603]\n A read [620,621] proc=11\n B release [630,631]").
				Replace(waited), Violated, 1, KindGrantedWhileValid, ""},
		{"reborn, when its predecessor's release was under way", MutualExclusion, with("process", 0),
			strings.Replace(reborn, "kill A [50,51]", "A release [40,] \n kill A [50,51]", 1), Violated, 1, KindGrantedWhileValid, ""},
		{"reborn, when its predecessor's release had an unknown fate", MutualExclusion, with("process", 0),
			strings.Replace(reborn, "kill A [50,51]", "A release [40,41] info start=40\n kill A [50,51]", 1), Violated, 1,
			KindGrantedWhileValid, ""},
		{"reborn, and its session has no end", MutualExclusion, session(with("process", 0)),
			strings.Replace(reborn, "kill A [50,51]", "", 1), Violated, 3, KindGrantedWhileValid, ""},
		{"reborn, and each process has a name of its own", MutualExclusion, with("unique", 0), reborn, Violated, 1, KindGrantedWhileValid, ""},
		{"a twin let in as the lease ended, and another inside its own", MutualExclusion, with("host", 2), `
		A acquire [0,1]
		B acquire [497,498]
		B read    [499,500]
		C acquire [600,601]
		C read    [602,603]
		B read    [604,605]
		C release [610,611]
		B release [612,613]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"reborn, as its old lease ends", MutualExclusion, with("process", 0), strings.Replace(reborn, "[100,101]", "[100,498]", 1),
			Violated, 1, KindGrantedWhileValid, ""},
		{"others that were granted it one after the other", MutualExclusion, with("process", 0), `
			A acquire [0,1]
			A read    [2,3]
			B acquire [100,101]
			B read    [102,103]
			A release [104,105]
			C acquire [110,111]
			C read    [112,113]
			B read    [120,121]
			C release [130,131]` + probeText, Violated, 2, KindGrantedWhileValid, ""},
		{"reborn, and nobody noted the end of its predecessor", MutualExclusion, with("process", 0),
			strings.NewReplacer("kill A [50,51]", "", "A exit [51] proc=1", "").Replace(reborn), Violated, 1, KindSameIdentity, ""},
		{"the same process, which asked anew", MutualExclusion, with("process", 0),
			strings.NewReplacer("kill A [50,51]", "", "A exit [51] proc=1", "", "proc=11", "").Replace(reborn), Violated, 1,
			KindGrantedWhileValid, ""},
		{"a twin that is let in as the lease ends", MutualExclusion, with("unique", 2),
			"A acquire [0,1] attempt=0\nA read [2,3]\nB acquire [499,500] attempt=500\nB read [502,503]\nC acquire [510,511]\nC read [512,513]\nB read [520,521]" +
				"\nC release [530,531]" + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"a twin, beside a third client that outlived its lease", MutualExclusion, with("unique", 2),
			"C acquire [-600,-599]\npause C [-590,190]\nA acquire [0,1]\nA read [2,3]\nB acquire [100,101]\nB read [102,103]\nA read [110,111]" +
				"\nB release [120,121]\nD acquire [130,131]\nD read [132,133]\nA read [140,141]\nC read [200,201]" + probeText, Violated, 5,
			KindLeaseOverrun, ""},
		{"reborn, when its predecessor had released", MutualExclusion, with("process", 0), released, Violated, 1,
			KindGrantedWhileValid, ""},
	})
}

// TestTwins: twins are the first clients, so many as the header says.
func TestTwins(t *testing.T) {
	for _, c := range []struct {
		of   int
		a, b int32
		want bool
	}{
		{2, 1, 2, true}, {2, 2, 1, true}, {2, 1, 1, false}, {2, 1, 3, false}, {2, 3, 1, false}, {2, 3, 4, false}, {3, 3, 1, true},
		{2, 0, 1, false}, {2, 1, 0, false}, {0, 1, 2, false}, {1 << 40, 1, 2, true},
	} {
		r := rules{Header: history.Header{Twins: c.of}}
		if got := r.twins(c.a, c.b); got != c.want {
			t.Errorf("%d twins, clients %d and %d: %v", c.of, c.a, c.b, got)
		}
	}
}

// TestCauseOfGrantedInPromise: whatever a lock took its client for, the later grant should not have
// been made.
func TestCauseOfGrantedInPromise(t *testing.T) {
	for kind, want := range map[string]int64{KindGrantedWhileValid: 2, KindSameIdentity: 2, KindConfiguredIdentity: 2,
		KindLeaseOverrun: 1} {
		v := Violation{Property: MutualExclusion, Kind: kind, A: &GrantRef{Grant: 1}, B: &GrantRef{Grant: 2}}
		if got := v.Cause(); got != want {
			t.Errorf("%s: grant %d brought it about, want %d", kind, got, want)
		}
	}
}

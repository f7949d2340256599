package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestFalseLoss: when an answer "not held", or a lost-event, denies what
// certainly stood. The TTL is 500.
func TestFalseLoss(t *testing.T) {
	lease, held := plainLock(), session(plainLock())
	const rest = "\nA release [300,301] notheld" + probeText
	const denied = "A acquire [0,1]\nA renew [100,101] notheld"
	run(t, []propertyCase{
		{"a renewal is denied inside the lease", FalseLoss, lease, denied + rest, Violated, 1, "",
			`client 1 was told at 1.101 s, by the answer "not held", that its grant of k0 is lost, although the lock had promised it until 1.498 s`},
		{"a question", FalseLoss, lease, "A acquire [0,1]\nA held [100,101] notheld" + rest, Violated, 1, "", ""},
		{"a release", FalseLoss, lease, "A acquire [0,1]\nA release [100,101] notheld" + probeText, Violated, 1, "", ""},
		{"a release, of a lock that does not declare that releases confirm", FalseLoss, confirms(lease, "renew"),
			"A acquire [0,1]\nA release [100,101] notheld" + probeText, Pass, 0, "", ""},
		{"a release that took so long that it may have been sent twice", FalseLoss, lease,
			"A acquire [0,1]\nA release [100,150.1] notheld" + probeText, Pass, 0, "", ""},
		{"a release that took a tenth of the TTL", FalseLoss, lease,
			"A acquire [0,1]\nA release [100,150] notheld" + probeText, Violated, 1, "", ""},
		{"a release that had been tried before", FalseLoss, lease,
			"A acquire [0,1]\nA release [90,95] info start=90\nA release [100,101] notheld" + probeText, Pass, 0, "", ""},
		{"a release beside another one", FalseLoss, lease,
			"A acquire [0,1]\nA release [90,]\nA release [100,101] notheld\nA exit [300]" + probeText, Pass, 0, "", ""},
		{"a renewal beside a release", FalseLoss, lease,
			"A acquire [0,1]\nA release [90,200]\nA renew [100,101] notheld" + probeText, Pass, 0, "", ""},
		{"near the end of the lease", FalseLoss, lease,
			"A acquire [0,1]\nA renew [372,373.1] notheld\nA exit [900]" + probeText, Pass, 0, "", ""},
		{"a quarter of the TTL before it", FalseLoss, lease,
			"A acquire [0,1]\nA renew [372,373] notheld\nA exit [900]" + probeText, Violated, 1, "", ""},
		{"it was renewed before", FalseLoss, lease,
			"A acquire [0,1]\nA renew [300,301]\nA renew [600,601] notheld\nA exit [900]" + probeText, Violated, 1, "", ""},
		{"a session is denied", FalseLoss, held, denied + rest, Violated, 1, "", "until it gave the lock up"},
		{"a lost-event of a session", FalseLoss, held, "A acquire [0,1]\nA lost [100]" + probeText, Violated, 1, "", "by a lost-event"},
		{"a lost-event after the close", FalseLoss, held, "A acquire [0,1]\nA close [90,110]\nA lost [100]" + probeText, Pass, 0, "", ""},
		{"a session whose client was frozen before", FalseLoss, held, "pause A [-300,-200]\n" + denied + rest, Pass, 0, "", ""},
		{"a lease outlives a frozen client", FalseLoss, lease,
			"A acquire [0,1]\npause A [10,90]\nA renew [100,101] notheld" + rest, Violated, 1, "", ""},
		{"a link was disturbed", FalseLoss, lease, "A acquire [0,1]\ndelay A [10,90]\nA renew [100,101] notheld" + rest, Pass, 0, "", ""},
		{"a link was disturbed at that instant", FalseLoss, lease, denied + "\ndelay A [101,120]" + rest, Pass, 0, "", ""},
		{"a fault touched the service", FalseLoss, lease,
			"A acquire [0,1]\nservice x [10,20]\nA renew [100,101] notheld" + rest, Pass, 0, "", ""},
		{"a clock was wrong before", FalseLoss, lease,
			"fault clock-jump [-800,-700] on=service hosts=1\n" + denied + rest, Pass, 0, "", ""},
		{"its own clock was wrong before", FalseLoss, lease, "fault clock-jump [-800,-700] on=A\n" + denied + rest, Pass, 0, "", ""},
		{"a clock went wrong at that instant", FalseLoss, lease,
			denied + "\nfault clock-jump [101,120] on=service hosts=1" + rest, Pass, 0, "", ""},
		{"a clock was wrong only afterwards", FalseLoss, lease,
			denied + "\nfault clock-jump [110,120] on=service hosts=1" + rest, Violated, 1, "", ""},
		{"another had been granted it", FalseLoss, lease,
			"A acquire [0,1]\nB acquire [50,51]\nA renew [100,101] notheld\nB release [200,201]" + rest, Pass, 0, "", ""},
		{"another reads beside it", FalseLoss, readWrite(lease), "A acquire [0,1] mode=read\nB acquire [50,51] mode=read\n" +
			"A renew [100,101] notheld\nB release [200,201]" + rest, Violated, 1, "", ""},
		{"another still had it", FalseLoss, lease,
			"B acquire [-50,-49]\nA acquire [0,1]\nA renew [100,101] notheld\nB release [200,201]" + rest, Pass, 0, "", ""},
		{"another's late release may have freed it", FalseLoss, lease,
			"B acquire [-700,-699]\nA acquire [0,1]\nB release [50,51]\nA renew [100,101] notheld" + rest, Pass, 0, "", ""},
		{"another's late release comes only afterwards", FalseLoss, lease,
			"B acquire [-700,-699]\nA acquire [0,1]\nA renew [100,101] notheld\nB release [150,151]" + rest, Violated, 1, "", ""},
		{"a late release at the instant of its grant", FalseLoss, lease,
			"B acquire [-700,-699]\nB release [-1,0]\nA acquire [0,1]\nA renew [100,101] notheld" + rest, Pass, 0, "", ""},
		{"a late release at the instant of the answer", FalseLoss, lease,
			"B acquire [-700,-699]\nA acquire [0,1]\nA renew [100,101] notheld\nB release [101,102]" + rest, Pass, 0, "", ""},
		{"one late release before its grant, and one after the answer", FalseLoss, lease,
			"B acquire [-1400,-1399]\nC acquire [-700,-699]\nB release [-20,-19]\nA acquire [0,1]\nA renew [100,101] notheld\nC release [150,151]" + rest,
			Violated, 1, "", ""},
		{"its own old release of unknown fate may have come late", FalseLoss, lease,
			"A acquire [0,1]\ndelay A [9,20]\nA release [10,15] info\nA acquire [30,31]\nA renew [130,131] notheld" +
				rest, Pass, 0, "", ""},
		{"another's old release of unknown fate frees only what is its own", FalseLoss, lease,
			"B acquire [0,1]\ndelay B [9,20]\nB release [10,15] info\nA acquire [30,31]\nA renew [130,131] notheld" +
				rest, Violated, 1, "", ""},
		{"a semaphore whose service failed over", FalseLoss, permits(lease, 2),
			"A acquire [0,1]\nservice x [10,20]\nA renew [100,101] notheld" + rest, Pass, 0, "", ""},
		{"a writer whose node was frozen", FalseLoss, rwLock(),
			"A acquire [0,1] mode=write\nservice x [10,90]\nA renew [100,101] notheld" + rest, Pass, 0, "", ""},
		{"its renewal's first reply was lost", FalseLoss, lease,
			"A acquire [0,1]\ndelay A [60,70]\nA renew [60,101] notheld" + rest, Pass, 0, "", ""},
		{"a stall may explain it", FalseLoss, lease,
			"A acquire [0,1]\nservice x [10,90] +own\nA renew [100,101] notheld" + rest, Inconclusive, 0, "", "a stall of this machine"},
		{"nothing is promised", FalseLoss, noClaims(lease), denied + rest, NotJudged, 0, "", "promises nothing"},
		{"nested grants", FalseLoss, reentrant(lease), denied + rest, NotJudged, 0, "", "nested"},
		{"nobody was told of a loss", FalseLoss, lease, "A acquire [0,1]\nA release [10,11]" + probeText, NotJudged, 0,
			"", "No client was told"},
	})
}

// TestKeptKey: when a confirmed release freed nothing until the lease was over. The TTL is 500.
func TestKeptKey(t *testing.T) {
	lease := plainLock()
	const given = "A acquire [0,1]\nA release [10,11]\n"
	const rest = "\nB release [900,901]" + probeText
	run(t, []propertyCase{
		{"the next one waits until the lease is over", KeptKey, lease, given + "B acquire [20,505]" + rest, Violated, 1,
			"", "client 1 had released k0, which was answered ok, and client 2"},
		{"an attempt before that may have taken the key", KeptKey, lease,
			given + "B acquire [20,505] first=497 attempt=497" + rest, Pass, 0, "", ""},
		{"its first attempt that may have taken it came then", KeptKey, lease,
			given + "B acquire [20,505] first=498 attempt=498" + rest, Violated, 1, "", ""},
		{"it stamps no attempt, and the call began before that", KeptKey, lease,
			given + "B acquire [20,505] first=20" + rest, Violated, 1, "", ""},
		{"it stamps no attempt, and tells that an earlier one may have taken the key", KeptKey, lease,
			given + "B acquire [20,505] first=30 sent=498 came=503" + rest, Pass, 0, "", ""},
		{"it stamps no attempt, and its last request left then", KeptKey, lease,
			given + "B acquire [20,505] first=20 sent=498 came=503" + rest, Violated, 1, "", ""},
		{"it stamps no attempt, and its last request left before that", KeptKey, lease,
			given + "B acquire [20,505] first=20 sent=497 came=503" + rest, Pass, 0, "", ""},
		{"its first request may have waited behind what a cut link held back", KeptKey, lease,
			given + "delay B [-400,15]\nB acquire [20,505] first=20 sent=498 came=503" + rest, Pass, 0, "", ""},
		{"that had come by then", KeptKey, lease,
			given + "delay B [-400,-195]\nB acquire [20,505] first=20 sent=498 came=503" + rest, Violated, 1, "", ""},
		{"it stamps its attempt", KeptKey, lease,
			given + "delay B [-400,15]\nB acquire [20,505] first=498 attempt=498" + rest, Violated, 1, "", ""},
		{"it was frozen before it asked", KeptKey, lease,
			given + "pause B [-400,15]\nB acquire [20,505] first=20 sent=498 came=503" + rest, Violated, 1, "", ""},
		{"it has it as the lease ends", KeptKey, lease, given + "B acquire [20,498]" + rest, Violated, 1, "", ""},
		{"it asked a quarter of the TTL before that", KeptKey, lease, given + "B acquire [373,505]" + rest, Violated, 1, "", ""},
		{"a stall of the service may explain it", KeptKey, lease,
			given + "service x [25,400] +own\nB acquire [20,505]" + rest, Inconclusive, 0, "", "a stall of this machine"},
		{"it has the key before that", KeptKey, lease, given + "B acquire [20,497]" + rest, Pass, 0, "", ""},
		{"it asked shortly before that", KeptKey, lease, given + "B acquire [375,505]" + rest, Pass, 0, "", ""},
		{"releases do not confirm", KeptKey, confirms(lease, "renew"), given + "B acquire [20,505]" + rest, NotJudged,
			0, "", "does not declare"},
		{"nobody asked alone", KeptKey, lease, "B acquire [5,505]\n" + given + rest, NotJudged, 0, "", "asked alone"},
		{"the release was refused", KeptKey, lease,
			"A acquire [0,1]\nA release [10,11] notheld\nB acquire [1020,2105]" + rest, NotJudged, 0, "", ""},
		{"another asked beside it", KeptKey, lease, given + "B acquire [20,505]\nC acquire [30,600] busy" + rest, NotJudged, 0, "", ""},
		{"another was granted it between", KeptKey, lease,
			given + "B acquire [20,505]\nC acquire [30,31]\nC release [400,401]" + rest, NotJudged, 0, "", ""},
		{"a waiter polled at long intervals behind another", KeptKey, lease,
			"A acquire [0,1]\nB acquire [5,505]\nA release [10,11]" + rest, NotJudged, 0, "", "asked alone"},
		{"an abandoned entry stood before it", KeptKey, lease,
			given + "C acquire [12,15] info start=12\nB acquire [20,505]" + rest, Pass, 0, "", ""},
		{"it was cut off", KeptKey, lease, given + "delay B [25,400]\nB acquire [20,505]" + rest, Pass, 0, "", ""},
		{"a fault touched the service", KeptKey, lease, given + "service x [25,400]\nB acquire [20,505]" + rest, Pass, 0, "", ""},
		{"a stall may explain it", KeptKey, lease, given + "stall B [25,400]\nB acquire [20,505]" + rest, Inconclusive,
			0, "", "a stall of this machine"},
		{"a session", KeptKey, session(lease), given + "B acquire [20,505]" + rest, NotJudged, 0, "", "for how long a grant is good"},
		{"several permits", KeptKey, lease.with(func(h *history.Header) { h.Claims.Permits = 2 }),
			given + "B acquire [20,505]" + rest, NotJudged, 0, "", "more than one permit"},
	})
}

// TestLongCutsAreRemembered: what a link held back comes late, whatever other faults came since.
func TestLongCutsAreRemembered(t *testing.T) {
	text := strings.Repeat("stall C [9000,9001]\n", trimEvery) + "A acquire [9100,9101]\nA release [9110,9111]\n" +
		"B acquire [9120,9605] first=9120 sent=9598 came=9603\nB release [9900,9901]"
	for cut, want := range map[string]Outcome{"delay B [0,5000]\n": Pass, "delay B [0,4000]\n": Violated} {
		if r := foundIn(plainLock().history(cut+text), KeptKey); r.Outcome != want {
			t.Errorf("%s: %s, want %s", cut, r.Outcome, want)
		}
	}
}

// TestGarbledConvictsNobody: where a history has events that cannot be, others
// may be missing that explain an answer.
func TestGarbledConvictsNobody(t *testing.T) {
	for _, x := range []struct {
		property, text string
	}{
		{FalseLoss, "A acquire [0,1]\nA renew [100,101] notheld\nA release [300,301] notheld" + probeText},
		{KeptKey, "A acquire [0,1]\nA release [10,11]\nB acquire [20,505]\nB release [900,901]" + probeText},
		{FalseBusy, "A acquire [0,1]\nA release [2,3]\nB acquire [10,20] busy" + probeText},
	} {
		for name, garbage := range map[string]*history.Event{
			"": nil,
			"an act under an unknown grant": {Type: history.Invoke, Kind: history.Read, Op: 900, Grant: 800, Client: 1,
				Process: 1, Time: at(1)},
			"an answer to no question": {Type: history.OK, Kind: history.Read, Op: 900, Grant: 1, Client: 1, Process: 1, Time: at(1)},
		} {
			h := plainLock().history(x.text)
			want := 1
			if garbage != nil {
				want = 0
				i := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Time > garbage.Time })
				h.Events = slices.Insert(h.Events, i, *garbage)
			}
			v := Judge(h, Options{})
			if got := v.Property(x.property).Count; got != want {
				t.Errorf("%s, %s: %d, want %d", x.property, name, got, want)
			}
		}
	}
}

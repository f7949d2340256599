package checker

import (
	"strings"
	"testing"
)

// TestContinuityOfACutHistory: the promise that one of the orders breaks may have been taken back
// behind the cut.
func TestContinuityOfACutHistory(t *testing.T) {
	text := strings.NewReplacer("1490", "940", "[1500,1501]", "[950,951]").Replace(eitherWay)
	for end, want := range map[float64]Outcome{960: Inconclusive, 1151: Violated} {
		if r := foundIn(plainLock().until(text+"\nC acquire [1150,1151] key=k1", end), Continuity); r.Outcome != want {
			t.Errorf("cut at %v: %s, want %s", end, r.Outcome, want)
		}
	}
}

// eitherWay: B waited since before A was granted the key, so the order of their grants is unknown.
const eitherWay = `
		B acquire [-5,900]
		A acquire [0,10]
		pause A   [20,1490]
		A release [1500,1501]
		B release [1600,1601]
		`

func TestContinuity(t *testing.T) {
	held := confirms(plainLock(), "held")
	run(t, []propertyCase{
		{"held? answered yes after the key was given away", Continuity, held,
			handedOver + "A held [700,701]" + probeText, Violated, 1, "", "still confirmed to client 1"},
		{"held? answered no", Continuity, held, "B held [1,2]\n" + handedOver +
			"A held [700,701] notheld\nB held [702,703]" + probeText, Pass, 0, "", ""},
		{"held? began before the later grant ended", Continuity, held,
			handedOver + "A held [590,700] run=601,700" + probeText, Pass, 0, "", ""},
		{"a renewal is confirmed", Continuity, plainLock(),
			handedOver + "A renew [700,701]\nA release [702,703] notheld" + probeText, Violated, 1, "", "k0"},
		{"its release took effect early and its reply was late", Continuity, plainLock(), `
		A acquire [0,1]
		A release [10,30]
		B acquire [12,13]
		B release [40,41]` + probeText, Pass, 0, "", ""},
		{"a renewal that the lock does not declare to confirm", Continuity, confirms(plainLock(), "release"),
			handedOver + "A renew [700,701]\nB release [702,703]" + probeText,
			Pass, 0, "", ""},
		{"the order of the grants is unknown", Continuity, held, `
		A acquire [0,700]
		B acquire [10,601]
		A held    [702,703]` + probeText, Pass, 0, "", ""},
		{"each order needs a defect", Continuity, plainLock(), eitherWay + probeText, Violated, 1, "",
			"if client 2 was granted it first, client 1 was granted it inside that promise."},
		{"the same, and nothing is promised", Continuity, noClaims(plainLock()), eitherWay + probeText, Pass, 0, "", ""},
		{"the same, and the promise of the one that waited was over", Continuity, plainLock(),
			strings.Replace(eitherWay, "A acquire [0,10]", "A acquire [400,500]", 1) + probeText, Pass, 0, "", ""},
		{"the same, as far as it can last", Continuity, plainLock(),
			strings.Replace(eitherWay, "A acquire [0,10]", "A acquire [400,492]", 1) + probeText, Violated, 1, "", ""},
		{"the same, and a token tells the order", Continuity, fencedLock(),
			strings.NewReplacer("B acquire [-5,900]", "pause B [-4,890]\nB acquire [-5,900] tok=1", "[0,10]", "[0,10] tok=2", "[1600,1601]", "[1600,1601] notheld").Replace(eitherWay) + probeText2, Pass, 0, "", ""},
		{"the same, and the release was refused", Continuity, plainLock(),
			strings.Replace(eitherWay, "[1500,1501]", "[1500,1501] notheld", 1) + probeText, Pass, 0, "", ""},
		{"the tokens tell the order", Continuity, confirms(fencedLock(), "held"), `
		pause A   [1,699]
		A acquire [0,700] tok=1
		B acquire [10,601] tok=2
		A held    [702,703]` + probeText2, Violated, 1, "", "token 2"},
		{"the tokens can't be trusted", Continuity, confirms(fencedLock(), "held"), `
		pause A   [1,699]
		A acquire [0,700] tok=1
		B acquire [10,601] tok=2
		A held    [702,703]
		C acquire [800,801] tok=1` + probeText, Pass, 0, "", ""},
		{"no answer confirmed anything", Continuity, held, handedOver + "A held [700,701] notheld" + probeText,
			Inconclusive, 0, "", "No answer"},
		{"nobody asked", Continuity, held, handedOver + probeText, NotJudged, 0, "", "No client asked"},
		{"nothing is declared to confirm", Continuity, confirms(plainLock()),
			handedOver + "A release [700,701]" + probeText, NotJudged, 0, "", "does not declare"},
		{"a semaphore", Continuity, permits(plainLock(), 2), handedOver + "A release [700,701]" + probeText, NotJudged,
			0, "", "more than one permit"},
	})
}

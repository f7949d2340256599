package checker

import (
	"strings"
	"testing"
)

func TestEdgesOfLostUpdates(t *testing.T) {
	free := permits(plainLock(), 0)
	stalledOnItsWay := `
		A acquire [0,1]
		A read    [2,3]
		stall A   [510,699]
		B acquire [500,501] first=500
		B read    [502,503]
		B write   [504,506]
		A write   [480,705] @700
		B release [810,811]` + probeText
	const takenLate = ` # D's open acquire keeps A's grant in mind
		D acquire [1,]
		A acquire [0,1]
		A read    [2,3]
		A write   [10,13] @12,705
		A release [14,15]
		stall A   [16,699]
		B acquire [600,601]
		B read    [602,603]
		B write   [604,606]
		B release [810,811]` + probeText
	run(t, []propertyCase{
		{"taken twice, the second time over another's write", LostUpdate, noClaims(plainLock()), `
		A acquire [0,1]
		A read    [2,3]
		A write   [10,100] @12,90
		B acquire [20,21]
		B read    [22,23]
		B write   [50,51]
		B release [60,61]` + probeText, Violated, 1, "",
			"took a request of client 1 to k0 again, as version 3, over version 2 of client 2"},
		{"taken twice, which a stall of its client does not explain", LostUpdate, plainLock(), takenLate, Violated, 1, "", "again"},
		{"and so is the stale write", UnfencedWrite, plainLock(), takenLate, Violated, 1, KindInFlight,
			"although it had taken this request before"},
		{"taken twice, and made from what was there", LostUpdate, plainLock(),
			strings.Replace(takenLate, "@12,705", "@12,705 atomic", 1), Pass, 0, "", ""},
		{"stalled while its write was on its way", LostUpdate, plainLock(), stalledOnItsWay, Inconclusive, 0, "", "stall"},
		{"stopped while its write was on its way", LostUpdate, plainLock(),
			strings.Replace(stalledOnItsWay, "stall", "pause", 1), Violated, 1, "", ""},
		{"without a lock a stall excuses nothing", LostUpdate, free, stalled("stall"), Violated, 2, "", ""},
	})
}

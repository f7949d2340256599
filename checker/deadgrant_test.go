package checker

import "testing"

func TestEdgesOfDeadGrants(t *testing.T) {
	lib := library(plainLock())
	run(t, []propertyCase{
		{"exactly a stall beyond the lease", DeadGrant, plainLock(), "A acquire [0,550] attempt=0" + probeText, Pass, 0, "", ""},
		{"and a little more", DeadGrant, plainLock(), "A acquire [0,550.1] attempt=0" + probeText, Violated, 1, "", ""},
		{"a stall less than nothing left, after a while", DeadGrant, lib,
			"A acquire [0,480] attempt=0 valid=-50" + probeText, Violated, 1, "", ""},
		{"nothing left, after half a TTL", DeadGrant, lib, "A acquire [0,250] attempt=0 valid=0" + probeText, Violated, 1, "", ""},
		{"nothing left, after a little more", DeadGrant, lib, "A acquire [0,251] attempt=0 valid=0" + probeText, Pass, 0, "", ""},
		{"what another kind of lock says is not asked", DeadGrant, plainLock(),
			"A acquire [0,1] attempt=0 valid=0" + probeText, Pass, 0, "", ""},
		{"told by the library alone", DeadGrant, lib, "A acquire [0,901] valid=100" + probeText, Pass, 0, "", ""},
		{"told by the time alone, at its very end", DeadGrant, plainLock(), "A acquire [0,500]" + probeText, Pass, 0, "", ""},
		{"told by nobody", DeadGrant, lib, "A acquire [0,901]", Inconclusive, 0, "", "No grant told"},
		{"a stall that takes it to the bound", DeadGrant, plainLock(),
			"stall A [100,150]\nA acquire [0,700] attempt=0" + probeText, Inconclusive, 0, "", ""},
		{"a stall that takes it almost there", DeadGrant, plainLock(),
			"stall A [100,149]\nA acquire [0,700] attempt=0" + probeText, Violated, 1, "", ""},
		{"far less than nothing, and a stall", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,480] attempt=0 valid=-260" + probeText, Violated, 1, "", ""},
		{"less than nothing, and a stall that explains it", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,480] attempt=0 valid=-200" + probeText, Inconclusive, 0, "", ""},
		{"without an attempt, the library's word counts", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,480] valid=-260" + probeText, Violated, 1, "", ""},
		{"a waiter's attempt in time, and no other grant", DeadGrant, plainLock(), "A acquire [0,901] attempt=900", Pass, 0, "", ""},
		{"the library's word, and no other grant", DeadGrant, lib, "A acquire [0,901] valid=400", Pass, 0, "", ""},
		{"just a TTL, and no other grant", DeadGrant, plainLock(), "A acquire [0,500]", Pass, 0, "", ""},
		{"nothing left after half a TTL, stall or not", DeadGrant, lib,
			"stall A [0,60]\nA acquire [0,250] attempt=0 valid=0" + probeText, Violated, 1, "", ""},
		{"without an attempt, a stall may explain the library's word", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,480] valid=-100" + probeText, Inconclusive, 0, "", ""},
		{"what another kind of lock says does not outweigh a stall", DeadGrant, plainLock(),
			"stall A [2,599]\nA acquire [0,601] attempt=0 valid=-2000" + probeText, Inconclusive, 0, "", ""},
		{"over for longer than the library says", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,900] attempt=0 valid=-60" + probeText, Violated, 1, "", ""},
		{"others were granted it before it was decided", DeadGrant, plainLock(), `
		A acquire [0,601] attempt=0
		A release [602,603]
		B acquire [610,611]
		B release [612,613]
		C acquire [620,621]
		C release [622,623]
		D acquire [630,631]
		D release [632,633]` + probeText, Violated, 1, "", ""},
		{"a stall of somebody else", DeadGrant, plainLock(), "stall B [2,599]\nA acquire [0,601] attempt=0" + probeText,
			Violated, 1, "", ""},
	})
}

package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// connected is a lock that lives as long as a connection, and looks every 900
// ms whether it still has it.
func connected(s script) script {
	return session(s).with(func(h *history.Header) {
		h.Claims.LostGrace, h.Claims.NoExpiry, h.Claims.Confirms = 900*ms, true, []string{"held", "release"}
	})
}

// TestWhatEndsASession: which grants beside a holder whose connection or
// session a fault ended are defects, and which are not. The TTL is 500.
func TestWhatEndsASession(t *testing.T) {
	const granted = `
		A acquire [0,1]
		B acquire [900,901]
		`
	const reset = granted + `fault reset [10,14] on=A links
		`
	const overrun = KindLeaseOverrun
	run(t, []propertyCase{
		{"reset, within the grace that is claimed", MutualExclusion, connected(plainLock()),
			reset + "A write [910,911] refused\nB release [920,921]\nA exit [930]" + probeText, Violated, 1, overrun,
			"lost its connection"},
		{"reset, and nobody acts any more", MutualExclusion, connected(plainLock()),
			reset + "B release [920,921]\nA exit [930]" + probeText, Pass, 0, "", ""},
		{"reset, beyond the grace", MutualExclusion, connected(plainLock()),
			reset + "A write [1900,1901] refused\nB release [1910,1911]\nA exit [1930]" + probeText, Violated, 1,
			KindLateNotice, "had told it nothing"},
		{"reset, and no grace is claimed", MutualExclusion, session(plainLock()),
			reset + "A write [910,911] refused\nB release [920,921]\nA exit [930]" + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"reset, and the lock said since that it stands", MutualExclusion, connected(plainLock()),
			reset + "A held [20,21]\nA write [910,911] refused\nB release [920,921]\nA exit [930]" + probeText,
			Violated, 1, KindGrantedWhileValid, ""},
		{"reset while it was granted, before the connection that brought the grant", MutualExclusion, connected(plainLock()), `
		A acquire [0,20]
		fault reset [10,14] on=A links
		B acquire [900,901]
		A write [910,911] refused
		B release [920,921]
		A exit [930]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"reset after the other was granted it", MutualExclusion, connected(plainLock()),
			granted + "fault reset [905,906] on=A links\nA write [910,911] refused\nB release [920,921]\nA exit [930]" +
				probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"reset as the other was granted it", MutualExclusion, connected(plainLock()),
			granted + "fault reset [901,906] on=A links\nA write [910,911] refused\nB release [920,921]\nA exit [930]" +
				probeText, Violated, 1, overrun, ""},
		{"reset, and the lock said as it ended that it stands", MutualExclusion, connected(plainLock()),
			reset + "A held [14,21]\nA write [910,911] refused\nB release [920,921]\nA exit [930]" + probeText, Violated, 1, overrun, ""},
		{"a session that the service ended until the attempt", MutualExclusion, session(plainLock()), `
		A acquire [0,30] attempt=14
		fault expire-session [10,14] on=A
		B acquire [900,901]
		A write [910,911] refused
		B release [920,921]
		A exit [930]` + probeText, Violated, 1, overrun, ""},
		{"the other client's connection was reset", MutualExclusion, connected(plainLock()),
			granted + "fault reset [10,14] on=B links\nA write [910,911] refused\nB release [920,921]\nA exit [930]" +
				probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"a session that the service ended, whatever is claimed", MutualExclusion, session(plainLock()),
			granted + "fault expire-session [10,14] on=A\nA write [910,911] refused\nB release [920,921]\nA exit [930]" + probeText, Violated, 1, overrun, ""},
		{"a session that the service ended before the attempt", MutualExclusion, session(plainLock()), `
		A acquire [0,30] attempt=20
		fault expire-session [10,14] on=A
		B acquire [900,901]
		A write [910,911] refused
		B release [920,921]
		A exit [930]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"another had been granted it meanwhile, and gave it back", MutualExclusion, session(plainLock()), `
		A acquire [0,1]
		fault reset [10,14] on=A links
		B acquire [100,101]
		B release [200,201]
		C acquire [900,901]
		A write [910,911] refused
		C release [920,921]
		A exit [930]` + probeText, Violated, 2, overrun, ""},
		{"it had itself been granted it again meanwhile", MutualExclusion, session(plainLock()), `
		A acquire [0,1]
		fault reset [10,14] on=A links
		A release [20,21]
		A acquire [100,101]
		C acquire [900,901]
		A write [910,911] refused
		C release [920,921]
		A exit [930]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"nothing disturbed it when another was granted it meanwhile", MutualExclusion, session(plainLock()), `
		A acquire [0,1]
		B acquire [100,101]
		B release [200,201]
		C acquire [900,901]
		A write [910,911] refused
		C release [920,921]
		A exit [930]` + probeText, Violated, 2, KindGrantedWhileValid, ""},
	})
}

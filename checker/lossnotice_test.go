package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// alone is a session lock that claims to notice a loss within 200 ms by its own
// clock, cut off or not.
func alone(s script) script {
	return grace(session(s)).with(func(h *history.Header) { h.Claims.Notices = noticesAlone })
}

// TestLateNewsByItsOwnClock: what excuses a lock that notices a loss alone, and what does not.
func TestLateNewsByItsOwnClock(t *testing.T) {
	const granted = `
		A acquire [0,1]
		B acquire [600,601]
		B release [1900,1901]
		A exit [2000]`
	const cut = granted + `
		delay A [2,1850]`
	for _, x := range []struct {
		name    string
		lock    script
		text    string
		kind    string
		outcome Outcome
		says    string
	}{
		{"cut off, beyond the grace", alone(plainLock()), cut + `
		A write [850,851] refused`, KindLateNotice, Violated, "by that clock within 0.200 s, cut off or not"},
		{"cut off, and it claims no more than to notice undisturbed", grace(session(plainLock())), cut + `
		A write [850,851] refused`, KindLeaseOverrun, Violated, ""},
		{"cut off, within the grace", alone(plainLock()), cut + `
		A write [800,801] refused`, KindLeaseOverrun, Violated, ""},
		{"cut off and told, by an application that goes on", alone(plainLock()), cut + `
		A lost [700]
		A write [850,851] refused`, KindLeaseOverrun, Violated, ""},
		{"undisturbed: by its own clock is more than undisturbed", alone(plainLock()), granted + `
		pause A [2,590]
		A write [850,851] refused`, KindLateNotice, Violated, "went on undisturbed"},
		{"stopped meanwhile", alone(plainLock()), cut + `
		pause A [620,680]
		A write [850,851] refused`, KindLeaseOverrun, Violated, ""},
		{"stopped meanwhile, and not for long enough", alone(plainLock()), cut + `
		pause A [620,660]
		A write [850,851] refused`, KindLateNotice, Violated, ""},
		{"stopped before the other's grant", alone(plainLock()), cut + `
		pause A [10,590]
		A write [850,851] refused`, KindLateNotice, Violated, ""},
		{"its clock was wrong", alone(plainLock()), cut + `
		fault clock-rate-mono [10,400] on=A
		A write [1050,1051] refused`, KindLeaseOverrun, Violated, ""},
		{"its clock has been right for a TTL and the grace", alone(plainLock()), cut + `
		fault clock-rate-mono [10,400] on=A
		A write [1150,1151] refused`, KindLateNotice, Violated, ""},
		{"the service may have ended it early", alone(plainLock()), cut + `
		fault crash-restart [100,110] on=service
		A write [1250,1251] refused`, KindLeaseOverrun, Violated, ""},
		{"and a TTL and the grace are over since", alone(plainLock()), cut + `
		fault crash-restart [100,110] on=service
		A write [1350,1351] refused`, KindLateNotice, Violated, ""},
		{"its session was ended", alone(plainLock()), cut + `
		fault expire-session [100,110] on=A
		A write [1250,1251] refused`, KindLeaseOverrun, Violated, ""},
		{"and a TTL and the grace are over since that", alone(plainLock()), cut + `
		fault expire-session [100,110] on=A
		A write [1350,1351] refused`, KindLateNotice, Violated, ""},
		{"a stall alone explains it", alone(plainLock()), granted + `
		stall A [2,790]
		A write [850,851] refused`, "", Inconclusive, "is all that explains"},
		{"a stall, cut off, is taken off", alone(plainLock()), cut + `
		stall A [610,670]
		A write [850,851] refused`, KindLeaseOverrun, Violated, ""},
		{"nobody acts any more", alone(plainLock()), cut, "", Pass, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			v := x.lock.judge(t, x.text+probeText)
			r := v.Property(MutualExclusion)
			if r.Outcome != x.outcome || x.kind != "" && kindOf(v, MutualExclusion) != x.kind {
				t.Errorf("%s %v, want %s %s", r.Outcome, r.Kinds, x.outcome, x.kind)
			}
			text := strings.Join(v.Reasons, " ")
			for _, violation := range r.Violations {
				text += violation.Text
			}
			if !strings.Contains(text, x.says) {
				t.Errorf("it says %q, want %q", text, x.says)
			}
		})
	}
}

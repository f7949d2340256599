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
		A write [850,851] refused`, KindLossIgnored, Violated, "was told of the loss at 1.700 s and went on as holder"},
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

// TestLossIgnored: what shows that an application knew of its loss and went on, and what does not.
func TestLossIgnored(t *testing.T) {
	const granted = `
		A acquire [0,1]
		B acquire [650,651]
		B release [1900,1901]
		A exit [2000]`
	const told = granted + `
		A lost [600]`
	guard := func(guard string) script { return plainLock().with(func(h *history.Header) { h.Guard = guard }) }
	asked := plainLock().with(func(h *history.Header) { h.Guard, h.Claims.Confirms = "check", []string{"release", "held"} })
	log := plainLock().with(func(h *history.Header) { h.Translated = true })
	for _, x := range []struct {
		name    string
		lock    script
		text    string
		kind    string
		outcome Outcome
	}{
		{"told, and it writes", guard("own"), told + `
		A write [850,851] refused`, KindLossIgnored, Violated},
		{"told, and it reads", guard("own"), told + `
		A read [850,851]`, KindLossIgnored, Violated},
		{"its links are cut, which keeps nobody from stopping", guard("own"), told + `
		delay A [2,900]
		A write [850,851] refused`, KindLossIgnored, Violated},
		{"told by an answer", guard("check"), granted + `
		A renew [600,601] notheld
		A write [850,851] refused`, KindLossIgnored, Violated},
		{"it went by a newer answer", asked, told + `
		A held [700,701]
		A write [850,851] refused`, KindLeaseOverrun, Violated},
		{"told, and it declines", guard("told"), told + `
		A write [850,851] declined`, "", Pass},
		{"it does not listen, on purpose", guard(guardNone), told + `
		A write [850,851] refused`, KindLeaseOverrun, Violated},
		{"it goes by no answers, on purpose", guard(guardTold), granted + `
		A renew [600,601] notheld
		A write [850,851] refused`, KindLeaseOverrun, Violated},
		{"it may have looked before the news", guard("own"), granted + `
		A lost [800]
		A write [850,851] refused`, KindLeaseOverrun, Violated},
		{"it can't have looked before the news", guard("own"), granted + `
		A lost [799]
		A write [850,851] refused`, KindLossIgnored, Violated},
		{"the news came when it had written", guard("own"), granted + `
		A write [850,851] refused
		A lost [900]`, KindLeaseOverrun, Violated},
		{"the write was asked for before the news", guard("own"), told + `
		A write [590,851] start=850 refused`, KindLeaseOverrun, Violated},
		{"it conflicted before the news, too", guard("own"), granted + `
		A write [700,701] refused
		A lost [720]
		A write [850,851] refused`, KindLeaseOverrun, Violated},
		{"it asks for more time, and goes by the answer", guard("check"), told + `
		A renew [850,851] notheld`, KindLeaseOverrun, Violated},
		{"it was stopped behind the news", guard("own"), told + `
		pause A [610,690]
		A write [850,851] refused`, KindLeaseOverrun, Violated},
		{"it may have stalled behind the news", guard("own"), told + `
		stall A [610,690]
		A write [850,851] refused`, "", Inconclusive},
		{"a log that says when its write began", log, told + `
		A write [850,851] refused`, KindLossIgnored, Violated},
		{"a log's line may be of a write's end", log, told + `
		A write [850,850] refused`, KindLeaseOverrun, Violated},
	} {
		t.Run(x.name, func(t *testing.T) {
			v := x.lock.judge(t, x.text+probeText)
			r := v.Property(MutualExclusion)
			if r.Outcome != x.outcome || x.kind != "" && kindOf(v, MutualExclusion) != x.kind {
				t.Errorf("%s %v, want %s %s", r.Outcome, r.Kinds, x.outcome, x.kind)
			}
			if x.kind == KindLossIgnored && (r.Blame() != Defect || r.Violations[0].Pattern != PatternLossIgnored) {
				t.Errorf("blame %d, pattern %s", r.Blame(), r.Violations[0].Pattern)
			}
		})
	}
}

package checker

import (
	"strings"
	"testing"
)

// TestShutOut: a client that gets errors alone, while others get the key, is shut out; one that is
// granted the key in the end, that was disturbed, or that was alone in getting nothing is not.
func TestShutOut(t *testing.T) {
	const shut = `
		A acquire [0,1]
		A release [2,3]
		mark probe [1000]
		P acquire [1010,1011]
		P release [1012,1013]
		mark each [1100]
		A acquire [1110,1111]
		A release [1112,1113]
		B acquire [1200,1201] info start=1200
		B acquire [2200,2201] info start=2200
		B acquire [11300,11301] info start=11300
		mark close [11400]
		B exit [11450]
		mark final [12000]
		Q acquire [12010,12011]
		Q release [12012,12013]`
	changed := func(old, new string) string {
		if !strings.Contains(shut, old) {
			t.Fatalf("there is no %q", old)
		}
		return strings.Replace(shut, old, new, 1)
	}
	const last = "B acquire [11300,11301] info start=11300"
	run(t, []propertyCase{
		{"errors alone", StuckLock, plainLock(), shut, Violated, 1, KindShutOut, "nothing but errors"},
		{"for just as long as a lock may take", StuckLock, plainLock(), changed(last, "B acquire [11190,11199] info start=11190"), Pass, 0, "", ""},
		{"one instant longer", StuckLock, plainLock(), changed(last, "B acquire [11190,11200] info start=11190"), Violated, 1, KindShutOut, ""},
		{"errors that say that nothing happened", StuckLock, plainLock(),
			strings.ReplaceAll(shut, "info", "fail"), Violated, 1, KindShutOut, ""},
		{"one acquire, however long", StuckLock, plainLock(),
			strings.NewReplacer("B acquire [1200,1201] info start=1200", "", "B acquire [2200,2201] info start=2200", "",
				last, "B acquire [1200,11301] info start=1200").Replace(shut), Violated, 1, KindGhost, ""}, // by the rule for waits
		{"two long ones", StuckLock, plainLock(),
			strings.NewReplacer("B acquire [1200,1201] info start=1200", "", "B acquire [2200,2201] info start=2200", "B acquire [1200,2700] info start=1200",
				last, "B acquire [2710,11301] info start=2710").Replace(shut), Violated, 1, KindShutOut, ""},
		{"the last one began while a fault still counted", StuckLock, plainLock(),
			strings.NewReplacer("B acquire [1200,1201] info start=1200", "", "B acquire [2200,2201] info start=2200", "B acquire [1200,1210] info start=1200",
				last, "B acquire [1220,11399] info start=1220\ndelay B [600,925]").Replace(shut), Violated, 1, KindGhost, ""},
		{"the last one began when it counted no more", StuckLock, plainLock(),
			strings.NewReplacer("B acquire [1200,1201] info start=1200", "", "B acquire [2200,2201] info start=2200", "B acquire [1200,1210] info start=1200",
				last, "B acquire [1250,6000] info start=1250\n\t\tB acquire [6010,11399] info start=6010\ndelay B [600,925]").Replace(shut), Violated, 1, KindShutOut, ""},
		{"of whose first acquire the worker has told nothing", StuckLock, plainLock(),
			changed("B acquire [1200,1201] info start=1200", "B acquire [1200,1201] info"), Pass, 0, "", ""},
		{"granted in the end", StuckLock, plainLock(), changed(last, "B acquire [11300,11301]\n\t\tB release [11302,11303]"), Pass, 0, "", ""},
		{"refused once", StuckLock, plainLock(), changed("B acquire [2200,2201] info start=2200", "B acquire [2200,2201] busy"), Pass, 0, "", ""},
		{"of which the worker has told nothing", StuckLock, plainLock(), changed(last, "B acquire [11300,11301] info"), Pass, 0, "", ""},
		{"no fresh client had it before", StuckLock, plainLock(), changed("P acquire [1010,1011]\n\t\tP release [1012,1013]", ""), Pass, 0, "", ""},
		{"no fresh client had it afterwards", StuckLock, plainLock(),
			changed("Q acquire [12010,12011]\n\t\tQ release [12012,12013]", "Q acquire [12010,12011] info start=12010"), Inconclusive, 0, "", "answered with an error"},
		{"errors while others work", StuckLock, plainLock(), changed("mark each [1100]", ""), Pass, 0, "", ""},
		{"two clients", StuckLock, plainLock(), changed(last, last+`
		C acquire [11310,11311] info start=11310
		C acquire [11390,11399] info start=11390`), Violated, 1, KindShutOut, "client 2"},
		{"a fault counts for twice its time", StuckLock, plainLock(), shut + "\ndelay B [500,900]", Violated, 1, KindShutOut, ""},
		{"and so its connection may come back late", StuckLock, plainLock(), shut + "\ndelay B [400,900]", Pass, 0, "", ""},
		{"another's fault", StuckLock, plainLock(), shut + "\ndelay A [400,900]", Violated, 1, KindShutOut, ""},
		{"a fault on the service", StuckLock, plainLock(), shut + "\nfault partition [400,900] on=service hosts=1", Pass, 0, "", ""},
		{"its clock was wrong", StuckLock, plainLock(), shut + "\nfault clock-jump [10,20] on=B", Pass, 0, "", ""},
		{"only with a stall", StuckLock, plainLock(), shut + "\nstall B [2300,2500]", Inconclusive, 0, "", "stall"},
		{"a stall that costs less", StuckLock, plainLock(), shut + "\nstall B [2300,2390]", Violated, 1, KindShutOut, ""},
	})
}

package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Each row of the counterexamples: the smallest history against a simpler
// reading, judged by the right one.

type example struct {
	name string
	lock script
	text string
	want map[string]int
	kind string // of the double-hold, where it matters
}

var doubleHold = map[string]int{MutualExclusion: 1}

var examples = []example{
	{name: "hold/last invocation proves no act", lock: plainLock(), text: `
		A acquire [0,1]
		pause A   [2,800]
		A write   [700,]
		A exit    [800]
		B acquire [600,601]
		B write   [650,651]
		B write   [810,811]
		B release [820,821]`},
	{name: "hold/a grant without an act is none", lock: plainLock(), text: `
		pause B   [1,690]
		B acquire [0,700]
		A acquire [600,601]
		B write   [700.5,700.6] declined
		A write   [701,702]
		A release [703,704]`},
	{name: "hold/a refused write is an act", lock: plainLock(), want: doubleHold, kind: KindLeaseOverrun, text: `
		A acquire [0,1]
		pause A   [2,700]
		B acquire [600,601]
		B write   [650,651]
		A write   [700,705] start=701 refused
		A release [706,707] notheld
		B write   [720,721]
		B release [722,723]`},
	{name: "hold/a lost-event ends nothing", lock: plainLock(), want: doubleHold, kind: KindLeaseOverrun, text: `
		A acquire [0,1]
		pause A   [2,690]
		B acquire [600,601]
		B write   [650,651]
		A lost    [695]
		A write   [700,705] refused
		B write   [720,721]
		B release [722,723]`},
	{name: "hold/harness stamps miss it", lock: plainLock(), want: map[string]int{MutualExclusion: 1, UnfencedWrite: 1}, kind: KindLeaseOverrun, text: `
		A acquire [0,1]
		pause A   [500,1199]
		A write   [550,1200] start=1199
		B acquire [600,601]
		B write   [640,641]
		B write   [1300,1301]
		B release [1310,1311]`},
	{name: "hold/a release that was not confirmed is no act", lock: plainLock(), text: `
		A acquire [0,1]
		A write   [100,101]
		B acquire [600,601]
		B write   [602,603]
		A release [700,701] notheld
		B write   [800,801]
		B release [802,803]`},
	{name: "hold/a confirmed release is an act", lock: noClaims(plainLock()), want: map[string]int{MutualExclusion: 1, Continuity: 1}, kind: KindUnexplained, text: `
		A acquire [0,1]
		A write   [100,101]
		B acquire [600,601]
		B write   [602,603]
		A release [700,701]
		B write   [800,801]
		B release [802,803]`},
	{name: "hold/equal stamps decide nothing", lock: noClaims(plainLock()), text: `
		A acquire [0,1]
		A release [7,8]
		B acquire [2,7]
		B release [9,10]`},
	{name: "hold/one of no length strictly inside another counts", lock: noClaims(plainLock()), want: map[string]int{MutualExclusion: 1, Continuity: 1}, text: `
		A acquire [0,1]
		B acquire [2,5]
		B write   [5,6]
		A release [7,8]`},
	{name: "hold/a reentrant owner has one", lock: plainLock().with(func(h *history.Header) { h.Claims.Reentrant = true }), text: `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A write      [4,5] g=A2
		A release    [6,7] g=A2
		A write      [8,9] g=A1
		A release    [10,11] g=A1
		B acquire    [12,13]
		B release    [14,15]`},
	{name: "hold/a reentrant owner's hold ends with its outermost release",
		lock: noClaims(plainLock().with(func(h *history.Header) { h.Claims.Reentrant = true })), want: map[string]int{MutualExclusion: 1, Continuity: 1}, text: `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A release    [6,7] g=A2
		B acquire    [8,9]
		A write      [10,11] g=A1 refused
		B write      [12,13]
		A release    [14,15] g=A1
		B release    [16,17]`},
	{name: "hold/a greater token bounds the begin", lock: noClaims(fencedLock()), want: doubleHold, text: `
		pause A   [1,699]
		A acquire [0,700] tok=33
		A write   [701,702] refused
		B acquire [600,601] tok=34
		B release [650,651]`},
	{name: "hold/of no length, at the instant that bounds the begin of one with a smaller token", lock: noClaims(fencedLock()), want: doubleHold, text: `
		pause A   [1,699]
		B acquire [600,601] tok=34
		B write   [601,602]
		A acquire [0,700] tok=33
		A write   [701,702] refused
		B exit    [1100]`},
	{name: "hold/without fencing tokens nothing bounds it", lock: noClaims(plainLock()), text: `
		pause A   [1,699]
		A acquire [0,700] tok=33
		A write   [701,702] refused
		B acquire [600,601] tok=34
		B release [650,651]`},
	{name: "promise/granted while the first holder lies idle", lock: plainLock(), want: doubleHold, kind: KindGrantedWhileValid, text: `
		A acquire [0,1]
		B acquire [300,301]
		kill A    [400,401]
		A exit    [401]
		B release [302,303]`},
	{name: "promise/valid as long as the library says", lock: library(plainLock()), want: doubleHold, kind: KindGrantedWhileValid, text: `
		A acquire [0,1] valid=495
		B acquire [300,301] valid=495
		kill A    [400,401]
		A exit    [401]
		B release [302,303]`},
	{name: "promise/the library's word counts from the attempt, not from a late return", lock: library(plainLock()), text: `
		pause A   [2,699]
		A acquire [0,700] attempt=0 valid=495
		B acquire [600,601] attempt=600 valid=495
		B write   [602,603]
		B release [604,605]
		A write   [701,701.5] declined`},
	{name: "promise/a kill withdraws it", lock: plainLock(), text: `
		A acquire [0,1]
		kill A    [200,201]
		A exit    [201]
		B acquire [300,301]
		B release [302,303]`},
	{name: "promise/a client found dead may have died early", lock: plainLock(), text: `
		A acquire [0,1]
		B acquire [300,301]
		A exit    [401]
		B release [302,303]`},
	{name: "promise/the start of a release withdraws it", lock: plainLock(), text: `
		A acquire [0,1]
		A release [10,30] start=12
		B acquire [11,14]
		B release [31,32]`},
	{name: "promise/a lost-event withdraws it", lock: plainLock(), want: map[string]int{FalseLoss: 1}, text: `
		A acquire [0,1]
		A lost    [200]
		B acquire [201,202]
		B release [203,204]
		A exit    [300]`},
	{name: "promise/a declined op withdraws it", lock: plainLock(), text: `
		A acquire [0,1]
		A write   [150,151] declined
		B acquire [201,202]
		B release [203,204]
		A exit    [300]`},
	{name: "promise/the start of a close withdraws it", lock: plainLock(), text: `
		A acquire [0,1]
		A close   [150,300]
		B acquire [201,202]
		B release [203,204]`},
	{name: "promise/nothing is promised without a claim", lock: noClaims(plainLock()), text: `
		A acquire [0,1]
		B acquire [300,301]
		B release [302,303]`},
	{name: "promise/two milliseconds are nobody's", lock: plainLock(), text: `
		A acquire [0,1]
		B acquire [400,498.5]
		B release [502,503]
		A exit [600]`},
	{name: "promise/order unknown, each inside the other's", lock: plainLock(), want: doubleHold, kind: KindGrantedWhileValid, text: `
		A acquire [0,10]
		B acquire [0,12]
		A release [20,21]
		B release [20,21]`},
	{name: "promise/order unknown, released in between", lock: plainLock(), text: `
		A acquire [0,10]
		A release [11,13]
		B acquire [0,12]
		B release [20,21]`},
	{name: "promise/a confirmed renewal extends it", lock: plainLock(), want: doubleHold, kind: KindGrantedWhileValid, text: `
		A acquire [0,1]
		A renew   [400,401]
		B acquire [600,601]
		B release [602,603]
		kill A    [700,701]
		A exit    [701]`},
	{name: "promise/a renewal that ended after it extends nothing", lock: plainLock(), text: `
		A acquire [0,1]
		A renew   [400,520]
		B acquire [600,601]
		B release [602,603]
		kill A    [700,701]
		A exit    [701]`},
	{name: "order/the token counter was reset", lock: fencedLock(), want: map[string]int{TokenOrder: 1}, text: `
		A acquire [0,1] tok=5
		A write   [2,3]
		A release [4,5]
		B acquire [10,11] tok=3
		B write   [12,13]
		B release [14,15]`},
	{name: "order/an earlier attempt may have taken effect", lock: noClaims(fencedLock()), text: `
		A acquire [0,60] tok=1 first=0 attempt=50
		B acquire [30,40] tok=2
		pause A [0,60]
		A release [61,62] notheld
		B release [42,43]`},
	{name: "order/but not where the lock says it could not", lock: noClaims(fencedLock()), want: map[string]int{TokenOrder: 1}, text: `
		pause A [0,60]
		A acquire [0,60] tok=1 first=50 attempt=50
		B acquire [30,40] tok=2
		B release [42,43]
		A release [61,62]`},
	{name: "unfenced-write/each key has an order of its own", lock: plainLock(), text: `
		A acquire [0,1]
		B acquire [0,1] key=k1
		A write   [10,11]
		B write   [20,21] key=k1
		A write   [30,31]
		A release [40,41]
		B release [40,41] key=k1`},
	{name: "unfenced-write/semaphores have none", lock: plainLock().with(func(h *history.Header) { h.Claims.Permits = 2 }), text: `
		A acquire [0,1]
		B acquire [0,1]
		A write   [10,11]
		B write   [20,21]
		A write   [30,31]
		A release [40,41]
		B release [40,41]`},
	{name: "unfenced-write/sent before, delivered after: in flight", lock: plainLock(), want: map[string]int{UnfencedWrite: 1}, text: `
		A acquire [0,1]
		A write   [100,700] @690
		B acquire [600,601]
		B write   [620,621]
		B release [630,631]
		A release [701,702] notheld`},
	{name: "unfenced-write/begun after the later grant: stale", lock: noClaims(plainLock()), want: map[string]int{UnfencedWrite: 1, MutualExclusion: 1}, text: `
		A acquire [0,1]
		B acquire [600,601]
		B write   [620,621]
		B release [630,631]
		A write   [700,701]
		A exit    [702]`},
	{name: "unfenced-write/not contiguous", lock: noClaims(plainLock()), want: map[string]int{UnfencedWrite: 1, MutualExclusion: 1}, text: `
		A acquire [0,10]
		B acquire [0,10]
		A write   [20,21]
		B write   [30,31]
		A write   [40,41]
		A release [50,51]
		B release [50,51]`},
	{name: "unfenced-write/by token, where time is silent", lock: noClaims(fencedLock()), want: map[string]int{UnfencedWrite: 1, MutualExclusion: 1}, text: `
		pause A   [1,699]
		A acquire [0,700] tok=33
		B acquire [600,650] tok=34
		B write   [651,652]
		A write   [701,702]
		A exit    [710]
		B exit    [711]`},
	{name: "lost-update/own writes lose nothing", lock: plainLock(), text: `
		A acquire [0,1]
		A write   [2,3]
		A read    [4,5]
		A write   [6,7]
		A write   [8,9]
		A release [10,11]`},
	{name: "lost-update/a request applied twice loses nothing", lock: plainLock(), text: `
		A acquire [0,1]
		A read    [4,5]
		A write   [6,9] @7,8
		A release [10,11]`},
	{name: "lost-update/a blind write loses nothing", lock: noClaims(plainLock()), text: `
		A acquire [0,1]
		A write   [2,3]
		A release [4,5]
		B acquire [6,7]
		B write   [8,9]
		B release [10,11]`},
	{name: "lost-update/a write whose reply was lost counts", lock: noClaims(plainLock()),
		want: map[string]int{LostUpdate: 1, MutualExclusion: 1}, text: `
		A acquire [0,1]
		A read    [2,3]
		B acquire [600,601]
		B read    [602,603]
		A write   [604,] @605
		B write   [610,611]
		B release [612,613]`},
	{name: "token-order/a client may be given its own token again", lock: noClaims(fencedLock()), text: `
		A acquire [0,1] tok=7
		A release [2,3] info
		A acquire [4,5] tok=7
		A release [6,7]`},
	{name: "token-order/owner tokens order nothing", lock: plainLock().with(func(h *history.Header) { h.Claims.Token = "owner" }), text: `
		A acquire [0,1] tok=7
		A release [2,3]
		B acquire [4,5] tok=6
		B release [6,7]
		A acquire [8,9] tok=7
		A release [10,11]`},
	{name: "token-order/a queue jump where the token is the place in the queue", lock: noClaims(fencedLock()), want: map[string]int{TokenOrder: 1}, text: `
		A acquire [0,30] tok=1
		B acquire [5,20] tok=2
		B release [21,22]
		A release [40,41]`},
	{name: "token-order/a disturbed client may be overtaken", lock: noClaims(fencedLock()), text: `
		pause A   [1,29]
		A acquire [0,30] tok=1
		B acquire [5,20] tok=2
		B release [21,22]
		A release [40,41] notheld`},
	{name: "token-order/two clients share one", lock: noClaims(fencedLock()), want: map[string]int{TokenOrder: 1}, text: `
		A acquire [0,1] tok=1
		A release [2,3]
		B acquire [5,20] tok=1
		B release [21,22]`},
	{name: "kind/a session is older than its grant", lock: session(plainLock()), want: map[string]int{}, text: `
		pause A   [10,440]
		A acquire [450,451]
		B acquire [507,508]
		A lost    [521]
		B release [531,532]`},
	{name: "kind/a session that nothing disturbed for a TTL before the grant", lock: session(plainLock()), want: map[string]int{MutualExclusion: 1}, kind: KindGrantedWhileValid, text: `
		pause A   [-600,6]
		A acquire [450,451]
		B acquire [507,508]
		A lost    [521]
		B release [531,532]`},
	{name: "kind/a session whose fault was measured until long ago, and healed a moment ago", lock: session(plainLock()), want: map[string]int{}, text: `
		pause A   [-600,60] to=6
		A acquire [450,451]
		B acquire [507,508]
		A lost    [521]
		B release [531,532]`},
	{name: "kind/a session whose client may have been stopped long before that was proven", lock: session(plainLock()), want: map[string]int{}, text: `
		A acquire [450,451]
		pause A   [480,900] from=700
		B acquire [507,508]
		B release [531,532]`},
	{name: "kind/a session promises nothing to a stopped client", lock: session(plainLock()), want: doubleHold, kind: KindLeaseOverrun, text: `
		A acquire [0,1]
		pause A   [2,700]
		B acquire [600,601]
		A write   [701,702] refused
		B release [703,704]
		A exit    [800]`},
	{name: "kind/a session promises to an undisturbed one", lock: session(plainLock()), want: doubleHold, kind: KindGrantedWhileValid, text: `
		A acquire [0,1]
		B acquire [600,601]
		A write   [701,702] refused
		B release [703,704]
		A exit    [800]`},
	{name: "kind/granted first, returned last", lock: plainLock(), want: doubleHold, kind: KindLeaseOverrun, text: `
		pause A   [1,690]
		A acquire [0,695]
		B acquire [600,601]
		B write   [602,603]
		A write   [701,702] refused
		B write   [750,751]
		A release [760,761] notheld
		B release [770,771]`},
	{name: "kind/running and connected, but for one millisecond", lock: grace(session(plainLock())), want: doubleHold, kind: KindLeaseOverrun, text: `
		A acquire [0,1]
		pause A   [2,700]
		B acquire [600,601]
		A write   [701,702] refused
		B release [703,704]
		A exit    [800]`},
	{name: "kind/late notice", lock: grace(session(plainLock())), want: doubleHold, kind: KindLateNotice, text: `
		A acquire [0,1]
		pause A   [2,700]
		B acquire [600,601]
		A write   [950,951] refused
		B release [960,961]
		A exit    [1000]`},
	{name: "kind/notice in time, ignored by the application", lock: grace(session(plainLock())), want: doubleHold, kind: KindLossIgnored, text: `
		A acquire [0,1]
		pause A   [2,700]
		B acquire [600,601]
		A lost    [750]
		A write   [950,951] refused
		B release [960,961]
		A exit    [1000]`},
	{name: "kind/notice in time, on a line before the acquire's own", lock: grace(session(fencedLock())), want: doubleHold, kind: KindLeaseOverrun, text: `
		G=A acquire [0,701] run=0,700 tok=1
		pause A   [2,699]
		A lost    [700.5] g=G
		B acquire [600,601] tok=2
		B write   [1010,1011]
		A write   [1000,1001] refused
		B release [1060,1061]
		A exit    [1100]`},
	{name: "kind/a service clock that jumps is the lock's affair", lock: plainLock(), want: doubleHold, kind: KindGrantedWhileValid, text: `
		A acquire [0,1]
		service clock [100,110]
		B acquire [200,201]
		A write   [250,251] refused
		B release [300,301]
		A exit    [310]`},
	{name: "semaphore/as many as it has permits", lock: noClaims(semaphore(2)), text: `
		A acquire [0,1]
		B acquire [2,3]
		A release [10,11]
		C acquire [9,10]
		B release [20,21]
		C release [20,21]`},
	{name: "semaphore/one too many", lock: noClaims(semaphore(2)), want: doubleHold, text: `
		A acquire [0,1]
		B acquire [2,3]
		C acquire [4,5]
		A release [10,11]
		B release [20,21]
		C release [20,21]`},
	{name: "semaphore/of three at one instant one is too many", lock: noClaims(semaphore(2)), want: doubleHold, text: `
		A acquire [0,5]
		B acquire [1,5]
		C acquire [2,5]
		A release [10,11]
		B release [20,21]
		C release [20,21]`},
	{name: "semaphore/of three in no known order one is inside the others' promises", lock: semaphore(2), want: doubleHold, text: `
		A acquire [0,5]
		B acquire [0,6]
		C acquire [0,7]
		kill A [30,31]
		A exit [31]
		kill B [30,31]
		B exit [31]
		kill C [30,31]
		C exit [31]`},
	{name: "semaphore/promises that came to nothing hide no hold", lock: session(semaphore(2)), want: map[string]int{MutualExclusion: 3}, text: `
		A acquire [0,1]
		F acquire [2,3]
		A renew   [200,201]
		D acquire [10,11]
		E acquire [20,21]
		B acquire [100,101]
		D close   [104,105]
		E close   [104,105]
		B release [300,301]
		pause D   [350,351] from=1
		pause E   [350,351] from=1
		A release [800,801]
		F release [800,801]`},
	{name: "semaphore/granted inside as many promises", lock: semaphore(2), want: doubleHold, kind: KindGrantedWhileValid, text: `
		A acquire [0,1]
		B acquire [2,3]
		C acquire [4,5]
		kill A [30,31]
		A exit [31]
		kill B [30,31]
		B exit [31]
		C release [40,41]`},
}

func TestCounterexamples(t *testing.T) {
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			v := x.lock.judge(t, x.text)
			expect(t, v, x.want)
			if x.kind != "" && kindOf(v, MutualExclusion) != x.kind {
				t.Errorf("kind %s, want %s", kindOf(v, MutualExclusion), x.kind)
			}
			for _, r := range v.Properties {
				for _, violation := range r.Violations {
					t.Logf("%s %s: %s", r.Name, violation.Kind, violation.Text)
				}
			}
		})
	}
}

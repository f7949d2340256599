package checker

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// correctWorlds are locks that do what they declare, under clients that are
// paused and killed, and networks that delay and lose packets.
var correctWorlds = map[string]worldConfig{
	"lease":                              {},
	"lease, pauses":                      {pauses: true},
	"lease, pauses, kills, renewals":     {pauses: true, kills: true, renews: true},
	"lease, pauses, fence, slow writes":  {pauses: true, fenced: true, fenceReads: true, slowWrites: true},
	"lease, slow writes":                 {slowWrites: true},
	"lease, packets lost":                {lossy: true, renews: true},
	"lease, packets lost, pauses, kills": {lossy: true, pauses: true, kills: true, twice: true},
	"lease, asks once, packets lost":     {once: true, lossy: true, clients: 3, pauses: true, kills: true},
	"lease, told, slow replies":          {service: service{library: true}, slowReplies: true, pauses: true, renews: true},
	"lease, told, packets lost":          {service: service{library: true}, lossy: true, kills: true},
	"session":                            {service: service{session: true}, slowThinker: true},
	"session, pauses":                    {service: service{session: true}, pauses: true, slowThinker: true, renews: true},
	"session, pauses, fence": {service: service{session: true}, pauses: true, slowThinker: true,
		fenced: true, fenceReads: true, slowWrites: true},
	"session, kills, packets lost": {service: service{session: true}, kills: true, lossy: true, renews: true},
	"queue":                        {service: service{queue: true}, workload: workloadQueue, clients: 6},
	"queue, pauses, kills":         {service: service{queue: true, session: true}, pauses: true, kills: true, clients: 6},
	"queue, pauses":                {service: service{queue: true, session: true}, pauses: true, clients: 6, slowThinker: true},
	"queue, packets lost":          {service: service{queue: true, session: true}, lossy: true, slowReplies: true},
	"semaphore":                    {permits: 2, clients: 6},
	"semaphore, pauses, kills":     {permits: 3, clients: 7, pauses: true, kills: true, renews: true},
	"semaphore, packets lost":      {permits: 2, clients: 6, lossy: true, service: service{session: true}},
	"payment, pauses":              {workload: workloadPayment, keys: 8, pauses: true, slowWrites: true},
	"payment, fence":               {workload: workloadPayment, keys: 8, pauses: true, fenced: true, fenceReads: true},
	"leader, pauses, kills":        {workload: workloadLeader, pauses: true, kills: true, service: service{session: true}},
	"transfer":                     {workload: workloadTransfer, keys: 2, service: service{session: true}},
	"transfer, pauses, kills":      {workload: workloadTransfer, keys: 2, pauses: true, kills: true},
	"rare rounds, seldom looked at": {pauses: true, kills: true, lasts: 60_000 * ms, waits: 9000 * ms,
		backOff: 1900 * ms, rests: 9000 * ms},
	"rare rounds, packets lost": {lossy: true, kills: true, lasts: 60_000 * ms, waits: 9000 * ms,
		backOff: 1900 * ms, rests: 3000 * ms},
	"rare rounds, a lenient service": {service: service{session: true, lenient: true}, kills: true,
		lasts: 60_000 * ms, waits: 500 * ms, rests: 900 * ms, clients: 8},
	"rare rounds, in a queue": {service: service{queue: true, session: true}, pauses: true, kills: true,
		lasts: 60_000 * ms, waits: 12_000 * ms, rests: 9000 * ms},
	"rare rounds, semaphore": {permits: 2, pauses: true, kills: true, lasts: 60_000 * ms, waits: 9000 * ms,
		backOff: 1500 * ms, rests: 5000 * ms},
	"rare rounds, slow replies": {service: service{library: true}, slowReplies: true, pauses: true,
		lasts: 60_000 * ms, waits: 2000 * ms, backOff: 900 * ms, rests: 900 * ms},
	"stampede": {workload: workloadStampede, clients: 44, service: service{queue: true, session: true}},
}

// brokenWorlds are those with a seeded defect, and the property that it breaks.
var brokenWorlds = map[string]struct {
	worldConfig
	property string
	kind     string // of the violation, where it matters
}{
	"leases run out early": {worldConfig{service: service{early: true}, pauses: true}, MutualExclusion, KindGrantedWhileValid},
	"leases run out early, renewals": {worldConfig{service: service{early: true, library: true}, slowThinker: true,
		renews: true}, MutualExclusion, KindGrantedWhileValid},
	"sessions run out early": {worldConfig{service: service{early: true, session: true}, pauses: true},
		MutualExclusion, KindGrantedWhileValid},
	"a permit too many": {worldConfig{service: service{overbooks: true}, permits: 2, clients: 6,
		renews: true}, MutualExclusion, ""},
	"a second holder": {worldConfig{service: service{overbooks: true}, lossy: true}, MutualExclusion,
		KindGrantedWhileValid},
	"nobody is told of a loss": {worldConfig{service: service{session: true, silent: true}, pauses: true,
		slowThinker: true}, MutualExclusion, KindLateNotice},
	"never sees that it is cut off": {worldConfig{service: service{session: true, alone: true, deaf: true},
		cuts: true, keys: 3}, MutualExclusion, KindLateNotice},
	"nor when it was paused, too": {worldConfig{service: service{session: true, alone: true, deaf: true},
		cuts: true, keys: 3, pauses: true}, MutualExclusion, KindLateNotice},
	"a release deletes any grant": {worldConfig{service: service{blindDelete: true}, pauses: true}, StolenRelease, ""},
	"the same, with sessions":     {worldConfig{service: service{blindDelete: true, session: true}, pauses: true}, StolenRelease, ""},
	"no fence":                    {worldConfig{pauses: true, slowWrites: true}, UnfencedWrite, ""},
	"the fence lets reads pass":   {worldConfig{fenced: true, pauses: true, slowWrites: true}, LostUpdate, ""},
	"an order is paid twice": {worldConfig{workload: workloadPayment, keys: 8, pauses: true, slowWrites: true},
		DuplicateEffect, ""},
	"two leaders":                     {worldConfig{workload: workloadLeader, pauses: true, slowWrites: true}, DuplicateEffect, ""},
	"the tokens start again":          {worldConfig{service: service{resets: true}}, TokenOrder, ""},
	"the tokens start again, pauses":  {worldConfig{service: service{resets: true}, pauses: true, lossy: true}, TokenOrder, ""},
	"the service vouches for anybody": {worldConfig{service: service{vouches: true}, pauses: true, renews: true}, Continuity, ""},
	"it vouches, with sessions": {worldConfig{service: service{vouches: true, session: true}, pauses: true,
		renews: true}, Continuity, ""},
	"the library looks at no clock": {worldConfig{service: service{careless: true}, slowReplies: true}, DeadGrant, ""},
	"nor while it is paused": {worldConfig{service: service{careless: true, library: true}, slowReplies: true,
		pauses: true}, DeadGrant, ""},
	"it does not know its own value": {worldConfig{service: service{amnesic: true}, once: true, lossy: true, clients: 2}, FalseBusy, ""},
	"nor does a session's library": {worldConfig{service: service{amnesic: true, session: true}, once: true,
		lossy: true, clients: 1}, FalseBusy, ""},
	"it denies what it granted": {worldConfig{service: service{denies: true}, renews: true}, FalseLoss, ""},
	"the same, under pauses": {worldConfig{service: service{denies: true, library: true}, renews: true,
		pauses: true}, FalseLoss, ""},
	"a release leaves the lease": {worldConfig{service: service{keeps: true}, clients: 2, waits: 4000 * ms,
		rests: 900 * ms, lasts: 20_000 * ms}, KeptKey, ""},
	"a waiter looks at no session": {worldConfig{service: service{queue: true, session: true, careless: true},
		pauses: true, clients: 6}, DeadGrant, ""},
	"a renewal is taken however late": {worldConfig{service: service{careless: true}, slowReplies: true, renews: true}, DeadRenewal, ""},
	"the same, told, with pauses": {worldConfig{service: service{careless: true, library: true}, slowReplies: true,
		renews: true, pauses: true}, DeadRenewal, ""},
	"a release frees nothing":         {worldConfig{service: service{sticky: true}}, StuckLock, ""},
	"a dead holder keeps it for ever": {worldConfig{service: service{immortal: true}, kills: true}, StuckLock, ""},
	"a release frees nothing, long":   {worldConfig{service: service{sticky: true}, lasts: 20_000 * ms}, StuckLock, KindWedged},
	"a dead one keeps it, long": {worldConfig{service: service{immortal: true}, kills: true, lasts: 20_000 * ms},
		StuckLock, KindNeverExpired},
	"a loser stays in it, long": {worldConfig{service: service{queue: true, session: true, lingers: true},
		slowThinker: true, clients: 8, lasts: 20_000 * ms}, StuckLock, KindGhost},
	"a waiter is forgotten": {worldConfig{service: service{queue: true, forgets: true, session: true},
		lasts: 60_000 * ms, waits: 20_000 * ms, rests: 8000 * ms}, StuckLock, KindAsleep},
	"a loser stays in the queue": {worldConfig{service: service{queue: true, session: true, lingers: true},
		slowThinker: true, clients: 8}, StuckLock, KindGhost},
	"the newest waiter goes first": {worldConfig{service: service{queue: true, jumps: true}, clients: 6}, FIFO, ""},
	"the newest goes first, pauses": {worldConfig{service: service{queue: true, jumps: true, session: true},
		clients: 6, pauses: true, kills: true}, FIFO, ""},
	"one client has no luck": {worldConfig{service: service{queue: true, favours: true}, workload: workloadQueue}, Starvation, ""},
	"two keys, in either order": {worldConfig{workload: workloadTransfer, keys: 2, crossed: true,
		service: service{session: true}}, Deadlock, ""},
	"two leases, in either order": {worldConfig{workload: workloadTransfer, keys: 2, crossed: true, pauses: true}, Deadlock, ""},
	"a release wakes all": {worldConfig{workload: workloadStampede, clients: 44,
		service: service{queue: true, session: true, wakesAll: true}}, Herd, ""},
}

// inherent are the properties that a correct lease can't keep when its client is stopped, or a
// deadlock-free lock when its clients are not: what is found of them must be true, and that is all.
var inherent = []string{MutualExclusion, UnfencedWrite, LostUpdate, DuplicateEffect}

// score is how a property was judged on many histories.
type score struct {
	judged   int // histories
	alarms   int // false ones: violations that are not true, or that a correct lock can't have made
	truly    int // histories in which it was violated in truth
	caught   int // of these, found
	unshown  int // of these, not found, and no history shows it
	doubtful int // of these, not found, and the judge says itself that it can't tell
	missed   int // of these, not found, though the history shows it
	examples []string
}

func (s *score) add(o score) {
	s.judged, s.alarms, s.truly = s.judged+o.judged, s.alarms+o.alarms, s.truly+o.truly
	s.caught, s.unshown, s.doubtful, s.missed = s.caught+o.caught, s.unshown+o.unshown, s.doubtful+o.doubtful, s.missed+o.missed
	s.examples = append(s.examples, o.examples...)
}

// simulate judges one history of a world, and adds to the scores of the properties what came of it.
func simulate(t *testing.T, name string, c worldConfig, seed uint64, scores map[string]*score, kinds map[string]int) {
	t.Helper()
	h, w := runWorld(c, seed)
	v := Judge(h, Options{Keep: 1000})
	for _, reason := range v.Reasons {
		if !strings.HasPrefix(reason, StuckLock) && !strings.Contains(reason, "under grants that the history does not know") {
			t.Fatalf("%s, seed %d: %s", name, seed, reason)
		}
	}
	if v.Stats.Grants < 10 && !w.truths.stuck {
		kinds[fewGrants]++
	}
	for _, r := range v.Properties {
		if r.Outcome == NotJudged {
			continue
		}
		s := scores[r.Name]
		if s == nil {
			s = &score{}
			scores[r.Name] = s
		}
		s.judged++
		for _, x := range r.Violations {
			kinds[r.Name+" "+x.Kind]++
			defect := x.Kind == KindGrantedWhileValid || x.Kind == KindLateNotice || x.Kind == KindUnexplained ||
				!slices.Contains(inherent, r.Name)
			if !w.confirms(x) || defect && !c.defective() && r.Name != Deadlock {
				s.alarms++
				s.examples = append(s.examples, fmt.Sprintf("false: %s, seed %d: %s", name, seed, x.Text))
			}
		}
		violated, shown := w.truly(r.Name)
		switch {
		case violated && r.Count > 0:
			s.truly, s.caught = s.truly+1, s.caught+1
		case violated && r.Outcome == Inconclusive:
			s.truly, s.doubtful = s.truly+1, s.doubtful+1
		case violated && shown:
			s.truly, s.missed = s.truly+1, s.missed+1
			s.examples = append(s.examples, fmt.Sprintf("missed: %s of %s, seed %d", r.Name, name, seed))
		case violated:
			s.truly, s.unshown = s.truly+1, s.unshown+1
		}
	}
}

// histories is how many histories a simulation judges: a sample, or with LOCKCHAOS_SOAK all.
func histories(sample, soak int) int {
	if os.Getenv("LOCKCHAOS_SOAK") != "" {
		return soak
	}
	return sample
}

// printed writes the scores as a table.
func printed(scores map[string]*score, order []string) string {
	var b strings.Builder
	b.WriteString("| | histories judged | false alarms | violated in truth | found | not in the history | inconclusive | missed |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, name := range order {
		if s := scores[name]; s != nil {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", name, s.judged, s.alarms, s.truly, s.caught,
				s.unshown, s.doubtful, s.missed)
		}
	}
	return b.String()
}

// TestCorrectLocksAreNotAccused: what is inherent to leases is found, named so,
// and true; nothing else is found. LOCKCHAOS_SOAK=1 judges 10,000 histories.
func TestCorrectLocksAreNotAccused(t *testing.T) {
	n := histories(150, 10_000)
	began := time.Now()
	total, kinds := simulated(t, correctWorlds, n)
	tooFew(t, kinds, n)
	t.Logf("%d histories of correct locks, %v:\n%s%v", n, time.Since(began).Round(time.Second), printed(total, ofLocks()), kinds)
	for _, name := range ofLocks() {
		s := total[name]
		if s == nil && name == StaleRead {
			continue // the worlds have no transactions
		}
		if s == nil {
			t.Errorf("%s was never judged", name)
			continue
		}
		if s.alarms > 0 || s.missed > 0 {
			t.Errorf("%s: %d false alarms, %d missed:\n%s", name, s.alarms, s.missed,
				strings.Join(s.examples[:min(8, len(s.examples))], "\n"))
		}
		if slices.Contains(inherent, name) && s.caught == 0 {
			t.Errorf("%s: leases under pauses never violated it", name)
		}
	}
}

// fewGrants are the histories that show little, as when most packets of a queue were lost.
const fewGrants = "few grants"

// tooFew fails the test if more than one history of a thousand shows little.
func tooFew(t *testing.T, kinds map[string]int, n int) {
	t.Helper()
	if few := kinds[fewGrants]; few*1000 > n {
		t.Errorf("%d of %d histories have less than 10 grants", few, n)
	}
}

// simulated judges histories of worlds in turn.
func simulated(t *testing.T, worlds map[string]worldConfig, n int) (total map[string]*score, kinds map[string]int) {
	t.Helper()
	names := slices.Sorted(maps.Keys(worlds))
	total, kinds = map[string]*score{}, map[string]int{}
	for i := range n {
		name := names[i%len(names)]
		simulate(t, name, worlds[name], uint64(i), total, kinds)
	}
	return total, kinds
}

// TestSeededDefectsAreFound: each broken lock or fence, by the property and the
// kind that it breaks. LOCKCHAOS_SOAK=1 judges 10,000 histories.
func TestSeededDefectsAreFound(t *testing.T) {
	n := histories(6, 10_000/len(brokenWorlds)+1)
	all, each := map[string]*score{}, map[string]*score{}
	var order []string
	for _, name := range slices.SortedFunc(maps.Keys(brokenWorlds), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(Names(), brokenWorlds[a].property),
			slices.Index(Names(), brokenWorlds[b].property)), cmp.Compare(a, b))
	}) {
		x := brokenWorlds[name]
		scores, kinds := map[string]*score{}, map[string]int{}
		for seed := range n {
			simulate(t, name, x.worldConfig, uint64(seed), scores, kinds)
		}
		tooFew(t, kinds, n)
		s := scores[x.property]
		if s == nil || s.caught == 0 || x.kind != "" && kinds[x.property+" "+x.kind] == 0 {
			t.Errorf("%s: no %s of kind %q in %d histories: %+v, %v", name, x.property, x.kind, n, s, kinds)
			continue
		}
		row := x.property + ": " + name
		each[row], order = s, append(order, row)
		for property, s := range scores {
			if all[property] == nil {
				all[property] = &score{}
			}
			all[property].add(*s)
		}
	}
	t.Logf("%d histories of each broken lock, by its own property:\n%s\nand all of them, by every property:\n%s", n,
		printed(each, order), printed(all, Names()))
	for name, s := range all {
		if s.alarms > 0 || s.missed > 0 {
			t.Errorf("%s: %d false alarms, %d missed:\n%s", name, s.alarms, s.missed,
				strings.Join(s.examples[:min(8, len(s.examples))], "\n"))
		}
	}
}

// TestSlowWritesAreInFlight: without pauses, only writes that stay long in the
// network do harm, and only a fence helps.
func TestSlowWritesAreInFlight(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(60) {
		simulate(t, "slow writes", worldConfig{slowWrites: true}, seed, map[string]*score{}, kinds)
	}
	if kinds[UnfencedWrite+" "+KindInFlight] == 0 || kinds[UnfencedWrite+" "+KindStale] > 0 {
		t.Errorf("%v", kinds)
	}
}

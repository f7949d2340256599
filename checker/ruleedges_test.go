package checker

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func readWrite(s script) script { return claim(s, func(c *history.Claims) { c.ReadWrite = true }) }

// Reader-writer and reentrant locks at the edges of the rules about order, and
// what is not judged of which lock.
func TestEdgesOfClaims(t *testing.T) {
	rw := readWrite(plainLock())
	crossed := func(a, b, wa, wb, rest string) string {
		return strings.NewReplacer("HA", a, "HB", b, "WA", wa, "WB", wb).Replace(`
		A acquire [0,1] key=k0 mode=HA
		B acquire [0,1] key=k1 mode=HB
		`) + strings.NewReplacer("WA", wa, "WB", wb).Replace(rest) + probeText
	}
	const aFirst = "A acquire [2,403] busy key=k1 mode=WA\nB acquire [3,404] busy key=k0 mode=WB\n"
	const bFirst = "A acquire [3,404] busy key=k1 mode=WA\nB acquire [2,403] busy key=k0 mode=WB\n"
	cases := []propertyCase{
		{"a reentrant semaphore", MutualExclusion, permits(reentrant(plainLock()), 2), "A acquire [0,1]" + probeText,
			NotJudged, 0, "", "more than one permit"},
		{"tokens of a reader-writer lock", TokenOrder, readWrite(fencedLock()), healthy, Pass, 0, "", ""},
		{"a reader that writes", UnfencedWrite, noClaims(rw), `
		A acquire [0,1] mode=read
		B acquire [10,11] mode=write
		B write   [12,13]
		A write   [20,21]
		B release [30,31]` + probeText, Pass, 0, "", ""},
		{"a reader is confirmed beside another", Continuity, rw, `
		A acquire [0,1] mode=read
		B acquire [100,101] mode=read
		A renew   [200,201]` + probeText, Pass, 0, "", ""},
		{"a reader passes a reader", FIFO, fair(rw), `
		B acquire [2,40] mode=read enq=3 first=38
		C acquire [4,20] mode=read enq=5 first=18
		C release [30,31]
		B release [50,51]` + probeText, Pass, 0, "", ""},
		{"a writer passes a reader", FIFO, fair(rw), `
		B acquire [2,40] mode=read enq=3 first=38
		C acquire [4,20] mode=write enq=5 first=18
		C release [30,31]
		B release [50,51]` + probeText, Violated, 1, "", ""},
		{"what is nested passes the queue", FIFO, fair(reentrant(plainLock())), `
		A1=A acquire [0,1] enq=0.5
		B acquire [2,40] enq=3 first=38
		A2=A acquire [10,11] enq=10.5
		A release [20,21] g=A2
		A release [30,31] g=A1
		B release [50,51]` + probeText, Pass, 0, "", ""},
	}
	for _, x := range []struct {
		name, a, b, wa, wb string
		count              int
	}{
		{"readers wait for readers", "read", "read", "read", "read", 0},
		{"writers wait for readers", "read", "read", "write", "write", 1},
		{"readers wait for writers", "write", "write", "read", "read", 1},
		{"one of them waits for no reason", "read", "write", "read", "read", 0},
		{"the other waits for no reason", "write", "read", "read", "read", 0},
	} {
		outcome := map[int]Outcome{0: Pass, 1: Violated}[x.count]
		cases = append(cases, propertyCase{x.name, Deadlock, rw, crossed(x.a, x.b, x.wa, x.wb, aFirst), outcome, x.count, "", ""},
			propertyCase{x.name + ", told the other way round", Deadlock, rw, crossed(x.a, x.b, x.wa, x.wb, bFirst),
				outcome, x.count, "", ""})
	}
	run(t, cases)
}

// TestEdgesOfOwners: what a reentrant owner's releases, renewals and acquires
// show of its other levels.
func TestEdgesOfOwners(t *testing.T) {
	twice := reentrant(noClaims(plainLock()))
	robbed := func(renewal string) string {
		return "A1=A acquire [0,1]\n" + renewal + `
		A2=A acquire [4,5]
		A release [6,7] g=A2
		B acquire [510,511] first=510
		A release [601,602] g=A1
		C acquire [603,604] first=603
		C release [700,701]
		B release [702,703] notheld` + probeText
	}
	// Two levels, what is done with them, and an act under the second one while
	// another client acts.
	levels := func(done string) string {
		return "A1=A acquire [0,1]\nA2=A acquire [2,3]\n" + done + `
		B acquire [20,21]
		B write   [22,23]
		A write   [30,31] g=A2
		B write   [32,33]` + probeText
	}
	run(t, []propertyCase{
		{"a renewal of unknown fate, and a nested acquire", StolenRelease, reentrant(plainLock()),
			robbed("A renew [2,3] info g=A1"), Pass, 0, "", ""},
		{"a nested acquire alone", StolenRelease, reentrant(plainLock()), robbed(""), Violated, 1, "", ""},
		{"an act when all was given back", MutualExclusion, twice, `
		A acquire [0,1]
		A write   [2,]
		A release [3,4]
		B acquire [5,6]
		B write   [7,8]
		A write   [20,21]
		B write   [22,23]` + probeText, Violated, 1, KindUnexplained, ""},
		{"given back twice, and answered ok: it may have given back both", MutualExclusion, twice,
			levels("A release [4,5] g=A1\nA release [6,7] g=A1"), Pass, 0, "", ""},
		{"given back twice, and the second time refused", MutualExclusion, twice,
			levels("A release [4,5] g=A1\nA release [6,7] g=A1 notheld"), Violated, 1, KindUnexplained, ""},
		{"released to no avail, then the other one perhaps twice", MutualExclusion, twice,
			levels("A release [4,5] g=A2 fail\nA release [6,7] g=A1 info\nA release [8,9] g=A1 info"), Pass, 0, "", ""},
		{"perhaps given back twice, and a write that nobody reported", MutualExclusion, twice,
			strings.Replace(levels("A release [6,7] g=A1 info\nA release [8,9] g=A1 info"), "A write   [30,31] g=A2",
				"A write [30,] @31 g=A2\nA exit [32]", 1), Pass, 0, "", ""},
		{"the other one perhaps once", MutualExclusion, twice, levels("A release [6,7] g=A1 info"), Violated, 1, KindUnexplained, ""},
		{"refused when all was given back, long before", MutualExclusion, twice,
			"A0=A acquire [-9,-8]\nA release [-7,-6] g=A0\nA release [-5,-4] g=A0 notheld\n" +
				levels("A release [6,7] g=A1 info\nA release [8,9] g=A1 info"), Pass, 0, "", ""},
		{"two levels that were lost are no levels", FIFO, fair(reentrant(plainLock())), `
		A1=A acquire [0,1] enq=0.5
		A2=A acquire [2,3] enq=2.5
		A held    [10,11] notheld g=A2
		B acquire [20,100] enq=21 first=98
		A3=A acquire [30,40] enq=31 first=32
		A release [50,51] g=A3
		B release [110,111]` + probeText, Violated, 1, "", ""},
		{"another owner's write before a level's, and more of its other level's between", UnfencedWrite, twice, `
		A1=A acquire [0,5]
		B acquire [10,11]
		B write   [12,13]
		A2=A acquire [20,21]
		A write   [22,23] g=A2
		A write   [24,25] g=A2
		A write   [26,27] g=A1` + probeText, Violated, 1, KindStale, "after one of client 2 (version 1)"},
		{"an earlier owner's write between does not hide the latest", UnfencedWrite, twice, `
		A acquire [0,1]
		C acquire [5,6]
		B acquire [10,11]
		B write   [12,13]
		A write   [14,15]
		C write   [16,17]` + probeText, Violated, 2, KindStale, ""},
		{"the level that was given back is not held", MutualExclusion, reentrant(plainLock()), `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A held    [3.5,50] notheld g=A1
		A release [4,5] g=A1
		B acquire [100,101]
		B release [110,111]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
	})
}

// TestReadingsOfTheTokens: of what only one reading of a key's tokens shows,
// room is kept for what counts, and what does not is left out.
func TestReadingsOfTheTokens(t *testing.T) {
	lock := noClaims(fencedLock())
	text := strings.NewReplacer("A acquire [0,1]", "A acquire [0,1] tok=1", "B acquire [600,601]", "B acquire [600,601] tok=2", probeText, "").Replace(stalled("stall")) + `
		pause C   [2001,2019]
		C acquire [2000,2020] tok=3
		C write   [2021,2022] refused
		D acquire [2000,2005] tok=4
		D write   [2010,2011]
		D write   [2012,2013]`
	v := Judge(lock.history(text), Options{Keep: 1})
	if r := v.Property(MutualExclusion); r.Count != 1 || len(r.Violations) != 1 || r.Violations[0].A.Client != 3 {
		t.Errorf("a stall explains the first, and tokens show the second: %+v", r)
	}
	v = lock.judge(t, `
		G acquire [0,10] tok=2
		H acquire [0,10] tok=1
		G write   [11,12]
		H write   [13,14]
		G write   [15,16]`)
	if r := v.Property(UnfencedWrite); r.Count != 1 || len(r.Violations) != 1 || r.Violations[0].At != at(13.5) {
		t.Errorf("by time the third write is one too many, by the tokens the second: %+v", r)
	}
	v = workload(noClaims(plainLock()), "payment").with(func(h *history.Header) { h.Store = history.Store{} }).judge(t, `
		A acquire [0,1]
		A write   [2,3] value=1
		B acquire [10,11]
		B write   [12,13] value=1 atomic`)
	if r := v.Property(DuplicateEffect); r.Count != 1 || r.Violations[0].Kind != "" {
		t.Errorf("charged twice, in a ledger that nobody announced: %+v", r)
	}
}

// TestALedgerWithoutVersions: where the store numbers no versions, a hold's own
// writes are in nobody's way.
func TestALedgerWithoutVersions(t *testing.T) {
	for name, lock := range map[string]script{"plain": noClaims(plainLock()), "reentrant": reentrant(noClaims(plainLock()))} {
		h := lock.history("A acquire [0,1]\nA write [2,3]\nA write [4,5]\nA release [6,7]" + probeText)
		for i := range h.Events {
			h.Events[i].Version, h.Events[i].Replaced, h.Events[i].Seq = 0, 0, 0
		}
		if v := Judge(h, Options{}); v.Property(UnfencedWrite).Outcome != Pass || v.Property(LostUpdate).Outcome != Pass {
			t.Errorf("%s: %+v", name, v.Properties)
		}
	}
	h := noClaims(plainLock()).history("A acquire [0,10]\nB acquire [0,10]\nA write [11,12]\nB write [13,14]\nA write [15,16]")
	for i := range h.Events {
		h.Events[i].Version, h.Events[i].Replaced = 0, 0
	}
	if v := Judge(h, Options{}); v.Property(UnfencedWrite).Count != 1 {
		t.Errorf("one write between two of another: %+v", v.Property(UnfencedWrite))
	}
}

// TestGreatestWriters: of all writers the greatest is kept, and the greatest of
// all clients but that one's, each with its last write.
func TestGreatestWriters(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 12))
		s := New(reentrant(plainLock()).header, nil, Options{})
		grants := make([]*grant, 1+rng.IntN(6))
		for i := range grants {
			grants[i] = &grant{id: int64(i), client: int32(rng.IntN(3)), earliest: int64(rng.IntN(100)*10 + i)}
		}
		var first, other writer
		wrote := map[*grant]int64{}
		for version := range int64(12) {
			w := writer{g: grants[rng.IntN(len(grants))], version: version}
			wrote[w.g] = version
			s.records.keepGreatest(&first, &other, w, func(g *grant) int64 { return g.earliest })
			greatest := func(but int32) (top *grant) {
				for g := range wrote {
					if g.client != but && (top == nil || g.earliest > top.earliest) {
						top = g
					}
				}
				return top
			}
			top := greatest(-1)
			if next := greatest(top.client); first.g != top || first.version != wrote[top] || other.g != next ||
				next != nil && other.version != wrote[next] {
				t.Fatalf("seed %d, write %d: %+v and %+v, want those of %+v and %+v", seed, version, first, other, top, next)
			}
		}
	}
}

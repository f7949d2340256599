package checker

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEdgesOfNestedGrants: an owner has one lease, whichever of its grants it renews or loses.
func TestEdgesOfNestedGrants(t *testing.T) {
	const nested = "A1=A acquire [0,1]\nA2=A acquire [2,3]\n"
	owner := reentrant(plainLock())
	run(t, []propertyCase{
		{"told of the loss of one, it has lost all", MutualExclusion, owner, nested + `
		A lost    [100] g=A2
		B acquire [200,201]
		B release [210,211]` + probeText, Pass, 0, "", ""},
		{"renewed under one, renewed for all", MutualExclusion, owner, nested + `
		A renew   [300,301] g=A2
		A release [310,311] g=A2
		B acquire [600,601]
		B release [610,611]
		A release [620,621] g=A1 notheld` + probeText, Violated, 1, KindGrantedWhileValid, "until 1.798 s"},
		{"renewed under one, given back in time", StolenRelease, owner, nested + `
		A renew   [300,301] g=A2
		A release [310,311] g=A2
		B acquire [650,651]
		A release [700,701] g=A1
		C acquire [710,711]
		C release [720,721]` + probeText, Pass, 0, "", ""},
		{"not renewed, given back late", StolenRelease, owner, nested + `
		A release [310,311] g=A2
		B acquire [650,651]
		A release [700,701] g=A1
		C acquire [710,711]
		C release [720,721]` + probeText, Violated, 1, "", ""},
		{"behind a write under a greater token", UnfencedWrite, reentrant(fencedLock()), `
		A acquire [0,10] tok=7
		B acquire [0,8] tok=6
		A write   [20,21]
		B write   [30,31]
		A release [40,41]
		B release [40,41]` + probeText9, Violated, 1, KindStale, ""},
	})
}

func reentrant(s script) script { return claim(s, func(c *history.Claims) { c.Reentrant = true }) }

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

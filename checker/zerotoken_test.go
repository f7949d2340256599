package checker

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// A token of value 0 is a token like any other: a grant that has it comes
// before one with a greater token, and can't follow one.
func TestZeroIsAToken(t *testing.T) {
	const shared = `
		A acquire [0,1] tok=0
		A release [2,3]
		B acquire [10,11] tok=0
		B release [12,13]`
	run(t, []propertyCase{
		{"a counter that falls to 0", TokenOrder, fencedLock(), `
		A acquire [0,1] tok=7
		A release [2,3]
		B acquire [10,11] tok=0
		B release [12,13]`, Violated, 1, "", "token 0, smaller than token 7"},
		{"a counter that begins at 0", TokenOrder, fencedLock(), `
		A acquire [0,1] tok=0
		A release [2,3]
		B acquire [10,11] tok=1
		B release [12,13]`, Pass, 0, "", ""},
		{"0 for two clients", TokenOrder, fencedLock(), shared, Violated, 1, "", "both given token 0"},
		{"none is no token", TokenOrder, fencedLock(), `
		A acquire [0,1] tok=7
		A release [2,3]
		B acquire [10,11]
		B release [12,13]`, Pass, 0, "", ""},
	})
}

// The JSON of a verdict says of a grant that its token is 0, and leaves out the token of one that
// has none.
func TestReferenceOfTokenZero(t *testing.T) {
	for token, want := range map[string]string{" tok=0": `"client":1,"token":0,"acquired_ns"`, "": `"client":1,"acquired_ns"`} {
		h := noClaims(fencedLock()).history("A acquire [0,1]" + token + "\nB acquire [2,3]\nA write [4,5]\nB write [4,6]")
		v := Judge(h, Options{})
		all := v.Properties[mutualExclusion.place].Violations
		if len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		if text, err := json.Marshal(all[0].A); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}

// What is said of tokens depends on their order alone. So a history in which all are smaller
// by one, the smallest 0, has the same verdict; and the slow checker counts the same.
func TestTokensCountByTheirOrder(t *testing.T) {
	zeros, broken := 0, 0
	for seed := range rounds(2_000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 77))
		lock := randomLock(rng)
		lock.header.Claims.Token = tokenFencing
		g := &generator{rng: rng, keys: 1, store: true, fault: true, wild: true}
		h := lock.history(strings.Join(g.script(3), "\n"))
		_, before := countsOf(h)
		for i := range h.Events {
			if e := &h.Events[i]; e.Token.Given() {
				e.Token = history.TokenOf(e.Token.Number() - 1)
				if e.Token.Number() == 0 && e.Type == history.OK {
					zeros++
				}
			}
		}
		slow, got := countsOf(h)
		if got != before || got != slow {
			t.Fatalf("seed %d: with tokens from 0 on %+v, the slow checker %+v, from 1 on %+v", seed, got, slow, before)
		}
		broken += got.tokens
	}
	if zeros == 0 || broken == 0 {
		t.Fatalf("%d grants had the token 0, %d tokens were out of order", zeros, broken)
	}
}

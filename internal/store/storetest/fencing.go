package storetest

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/store"
)

func fence(t *testing.T, open Open) {
	l := open(t, onWrites)
	write := func(token int64, want error) store.Entry {
		t.Helper()
		return do(t, l, true, store.Request{Key: "a", Token: token}, want)
	}
	write(33, nil)
	write(33, nil) // one grant writes often
	write(35, nil)
	e := write(34, store.ErrRefused)
	if e.Fence != 35 || !e.Refused || e.Version != 0 {
		t.Errorf("refusal: %+v", e)
	}
	write(1, store.ErrRefused)
	if e := write(35, nil); e.Version != 4 || e.Replaced != 3 {
		t.Errorf("a refused write must leave the version as it was: %+v", e)
	}
	// A read raises nothing here, whatever its token.
	do(t, l, false, store.Request{Key: "a", Token: 99}, nil)
	write(36, nil)
}

// sharedToken: two grants that bear one token can't both be the newest, and nothing tells
// which is. The store keeps to the one that it met first, be it by a read or by a write.
func sharedToken(t *testing.T, open Open) {
	l := open(t, onAll)
	request := func(grant, token int64) store.Request { return store.Request{Key: "a", Grant: grant, Token: token} }
	do(t, l, true, request(1, 7), nil)
	if e := do(t, l, true, request(2, 7), store.ErrRefused); e.Fence != 7 || !e.Refused {
		t.Errorf("an equal token of another grant: %+v", e)
	}
	do(t, l, false, request(2, 7), nil) // a read takes nothing over
	do(t, l, true, request(2, 7), store.ErrRefused)
	do(t, l, true, request(1, 7), nil)
	do(t, l, false, request(3, 8), nil) // but a greater token does
	do(t, l, true, request(4, 8), store.ErrRefused)
	do(t, l, true, request(3, 8), nil)
	do(t, l, true, request(1, 7), store.ErrRefused)
}

// acceptsEqual demands that the broken fence is broken just so.
func acceptsEqual(t *testing.T, open Open) {
	l := open(t, broken)
	request := func(grant, token int64) store.Request { return store.Request{Key: "a", Grant: grant, Token: token} }
	do(t, l, false, request(1, 7), nil)
	do(t, l, true, request(2, 7), nil)
	do(t, l, true, request(1, 7), nil)
	do(t, l, true, request(3, 6), store.ErrRefused)
}

func fencePerKey(t *testing.T, open Open) {
	l := open(t, onAll)
	do(t, l, true, store.Request{Key: "a", Token: 50}, nil)
	do(t, l, true, store.Request{Key: "b", Token: 3}, nil)
	do(t, l, false, store.Request{Key: "b", Token: 40}, nil)
	do(t, l, true, store.Request{Key: "b", Token: 39}, store.ErrRefused)
	// a stale reader is not refused, and lowers nothing
	do(t, l, false, store.Request{Key: "b", Token: 2}, nil)
	do(t, l, false, store.Request{Key: "b"}, nil) // nor does one without a token
	do(t, l, true, store.Request{Key: "b", Token: 39}, store.ErrRefused)
	do(t, l, true, store.Request{Key: "a", Token: 50}, nil)
	// On an unfenced store tokens are kept and mean nothing.
	l = open(t, unfenced)
	do(t, l, true, store.Request{Key: "a", Token: 50}, nil)
	if e := do(t, l, true, store.Request{Key: "a", Token: 3}, nil); e.Token != 3 || e.Fence != 0 || e.Version != 2 {
		t.Errorf("unfenced: %+v", e)
	}
}

// readModifyWrite plays the interleaving from which a fence on writes alone
// does not protect. The counter stands at 1.
//
//  1. A is granted the lock with token 33, reads 1, and is stopped.
//  2. A's lease runs out. B is granted the lock with token 34 and reads 1 as well.
//  3. A resumes and writes the successor of what it read, 2, with token 33.
//  4. B writes the successor of what it read, 2, with token 34.
//
// If only writes raise the fence, it still stands below 33 at step 3, since B has not
// written yet: A's write is accepted, and B's write replaces it without having seen
// it. Two increments, one counted: a lost update, though every write carried its
// token and the fence did as it was told. If B's read raised the fence to 34, step 3
// is refused, A knows that its increment did not happen, and the counter is right.
func readModifyWrite(t *testing.T, l store.Ledger, late error) (a, b store.Entry) {
	t.Helper()
	const tokenA, tokenB = 33, 34
	do(t, l, true, store.Request{Key: "counter", Token: 32, Value: 1}, nil)
	readA := do(t, l, false, store.Request{Key: "counter", Client: 1, Token: tokenA}, nil)
	readB := do(t, l, false, store.Request{Key: "counter", Client: 2, Token: tokenB}, nil)
	a = do(t, l, true, store.Request{Key: "counter", Client: 1, Token: tokenA, Value: readA.Value + 1}, late)
	b = do(t, l, true, store.Request{Key: "counter", Client: 2, Token: tokenB, Value: readB.Value + 1}, nil)
	if readA.Version != 1 || readB.Version != 1 {
		t.Fatalf("both should have read version 1: %+v, %+v", readA, readB)
	}
	return a, b
}

// writesOnly demands that the update is lost. It is not a wish: the scenario that shows why reads
// must be fenced needs a store that is really fenced on writes only.
func writesOnly(t *testing.T, open Open) {
	a, b := readModifyWrite(t, open(t, onWrites), nil)
	if a.Refused || a.Version != 2 || b.Replaced != a.Version || b.Value != a.Value {
		t.Errorf("B should have replaced A's unseen write: %+v, %+v", a, b)
	}
}

func readsToo(t *testing.T, open Open) {
	a, b := readModifyWrite(t, open(t, onAll), store.ErrRefused)
	if !a.Refused || a.Fence != 34 || b.Replaced != 1 || b.Version != 2 {
		t.Errorf("A's late write should have been refused: %+v, %+v", a, b)
	}
}

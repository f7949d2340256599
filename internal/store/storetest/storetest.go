// Package storetest is the conformance suite of store engines: what
// store.Ledger promises, tried on a real engine.
//
//	func TestSQLite(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, f store.Fencing) store.Ledger { … })
//	}
//
// The ledger is the evidence in every verdict, so an engine that passes this suite must
// neither lose nor invent, reorder nor mend anything. Fencing is tested against the words of
// package store, the read-modify-write that a fence on writes alone does not protect included:
// an engine that happened to protect it would not be the control that it is meant to be.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/store"
)

// Open makes an empty ledger for one test and arranges, with t.Cleanup, for its end.
type Open func(t *testing.T, f store.Fencing) store.Ledger

var (
	unfenced = store.Fencing{}
	onWrites = store.Fencing{Writes: true}
	onAll    = store.Fencing{Writes: true, Reads: true}
	broken   = store.Fencing{Writes: true, Reads: true, AcceptsEqual: true}
)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	tests := []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"versions count from one", versions},
		{"the ledger keeps everything in order", ledgerOrder},
		{"entries come in pages", pages},
		{"a fence refuses lower tokens", fence},
		{"a token that two grants share is the first one's", sharedToken},
		{"a fence that accepts equal tokens is a broken one", acceptsEqual},
		{"keys have fences of their own", fencePerKey},
		{"fencing writes only loses updates", writesOnly},
		{"fencing reads too loses none", readsToo},
		{"a write on condition finds its version or nothing", onCondition},
		{"optimistic writers lose no update", optimistic},
		{"an addition reads and writes in one step", addition},
		{"a sum that does not fit leaves no entry", overflow},
		{"the fence comes before the condition", fencedCondition},
		{"bad requests leave no entry", badRequests},
		{"keys are text and nothing else", hostileKeys},
		{"many clients at once", concurrent},
		{"a cancelled context ends the call", cancelled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// do carries a request out and demands the error (nil, or one of the store's).
func do(t *testing.T, l store.Ledger, write bool, r store.Request, want error) store.Entry {
	t.Helper()
	e, err := l.Do(deadline(t), r, write)
	if !errors.Is(err, want) || (want == nil && err != nil) {
		t.Fatalf("%+v (write: %t): error %v, want %v", r, write, err, want)
	}
	return e
}

func all(t *testing.T, l store.Ledger) []store.Entry {
	t.Helper()
	entries, err := l.Entries(deadline(t), 0, store.MaxEntries)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func versions(t *testing.T, open Open) {
	l := open(t, unfenced)
	for _, step := range []struct {
		key                             string
		write                           bool
		value, version, replaced, reads int64
	}{
		{"a", false, 0, 0, 0, 0},
		{"a", true, 10, 1, 0, 0},
		{"a", true, -20, 2, 1, 0},
		{"b", true, 30, 1, 0, 0},
		{"a", false, 0, 2, 0, -20},
		{"b", false, 0, 1, 0, 30},
		{"a", true, 10, 3, 2, 0},
	} {
		e := do(t, l, step.write, store.Request{Key: step.key, Value: step.value}, nil)
		if e.Version != step.version || e.Replaced != step.replaced || (!step.write && e.Value != step.reads) {
			t.Errorf("%+v: got %+v", step, e)
		}
	}
}

func ledgerOrder(t *testing.T, open Open) {
	l := open(t, onAll)
	given := []store.Entry{
		do(t, l, true, store.Request{Key: "a", Op: 5, Grant: 4, Client: 3, Token: 7, Value: 70}, nil),
		do(t, l, false, store.Request{Key: "a", Op: 6, Grant: 5, Client: 4, Token: 9, Value: 12345}, nil),
		do(t, l, true, store.Request{Key: "a", Op: 7, Grant: 4, Client: 3, Token: 8, Value: 71}, store.ErrRefused),
		do(t, l, true, store.Request{Key: "b", Op: 1 << 62, Grant: 1 << 62, Client: 1<<31 - 1, Token: 1 << 62,
			Value: -1 << 63}, nil),
	}
	kept := all(t, l)
	if !reflect.DeepEqual(kept, given) {
		t.Fatalf("the ledger keeps\n%+v\nbut answered\n%+v", kept, given)
	}
	if !kept[2].Refused || kept[2].Version != 0 || kept[2].Replaced != 0 || kept[2].Fence != 9 || kept[1].Value != 70 {
		t.Errorf("refused write, and the read before it: %+v, %+v", kept[2], kept[1])
	}
	checkOrder(t, kept)
}

// checkOrder demands sequence numbers without holes, stamps that never fall,
// and versions that count.
func checkOrder(t *testing.T, entries []store.Entry) {
	t.Helper()
	version := map[string]int64{}
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d has sequence number %d", i+1, e.Seq)
		}
		if e.At <= 0 || (i > 0 && e.At < entries[i-1].At) {
			t.Fatalf("entry %d: stamp %d after %d", e.Seq, e.At, entries[max(i-1, 0)].At)
		}
		want := store.Entry{Version: version[e.Key]}
		switch {
		case e.Write && (e.Refused || e.Conflict): // not carried out
			want.Version = 0
		case e.Write:
			want = store.Entry{Version: version[e.Key] + 1, Replaced: version[e.Key]}
			version[e.Key] = want.Version
		}
		if e.Version != want.Version || e.Write && e.Replaced != want.Replaced {
			t.Fatalf("entry %d of %q: want version %d, replacing %d: %+v", e.Seq, e.Key, want.Version, want.Replaced, e)
		}
	}
}

func pages(t *testing.T, open Open) {
	const written = 75
	l := open(t, unfenced)
	for range written {
		do(t, l, true, store.Request{Key: "a"}, nil)
	}
	var seen []store.Entry
	for {
		page, err := l.Entries(deadline(t), int64(len(seen)), 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		if len(page) > 10 {
			t.Fatalf("a page of %d, limit 10", len(page))
		}
		seen = append(seen, page...)
	}
	if !reflect.DeepEqual(seen, all(t, l)) || len(seen) != written {
		t.Errorf("pages give %d entries that differ from the whole", len(seen))
	}
	for _, bad := range []struct {
		after int64
		limit int
	}{{-1, 10}, {0, 0}, {0, -1}, {0, store.MaxEntries + 1}} {
		if _, err := l.Entries(deadline(t), bad.after, bad.limit); !errors.Is(err, store.ErrBadRequest) {
			t.Errorf("after %d, limit %d: %v", bad.after, bad.limit, err)
		}
	}
}

func badRequests(t *testing.T, open Open) {
	l := open(t, onWrites)
	for _, bad := range []struct {
		write bool
		r     store.Request
	}{
		{true, store.Request{Key: "a"}}, // no token, and a fence
		{true, store.Request{Key: "", Token: 1}},
		{false, store.Request{Key: "a", Token: -1}},
		{false, store.Request{Key: "a", Op: -1}},
		{false, store.Request{Key: "a", Grant: -1}},
		{false, store.Request{Key: "a", Client: -1}},
		{false, store.Request{Key: "a\x00b"}},
		{false, store.Request{Key: "a\xff"}},
		{false, store.Request{Key: strings.Repeat("a", store.MaxKey+1)}},
		{true, store.Request{Key: "a", Token: 1, Mode: "swap"}},
		{true, store.Request{Key: "a", Token: 1, Mode: store.WriteIfVersion, Base: -1}},
		{true, store.Request{Key: "a", Token: 1, Mode: store.WriteAdd, Base: 1}},
		{true, store.Request{Key: "a", Token: 1, Base: 1}},
		{true, store.Request{Key: "a", Token: 1, Guard: "lock"}}, // this store looks at no guard
		{false, store.Request{Key: "a", Mode: store.WriteAdd}},
		{false, store.Request{Key: "a", Base: 1}},
	} {
		do(t, l, bad.write, bad.r, store.ErrBadRequest)
	}
	do(t, l, false, store.Request{Key: "a"}, nil) // a read needs no token
	if entries := all(t, l); len(entries) != 1 {
		t.Errorf("bad requests left entries: %+v", entries)
	}
}

func hostileKeys(t *testing.T, open Open) {
	l := open(t, unfenced)
	keys := []string{`'; DROP TABLE ledger; --`, `" OR 1=1`, "%s%n", "a\nb\r\t", "$1 ? :key", "../../etc/passwd", "é",
		"e\u0301", "<script>",
		"\u2028", "\u202e", "null", "0", " ", "{}", strings.Repeat("\x01", store.MaxKey),
		strings.Repeat("🔒", store.MaxKey/4)}
	for i, key := range keys {
		do(t, l, true, store.Request{Key: key, Value: int64(i)}, nil)
	}
	for i, key := range keys {
		if e := do(t, l, false, store.Request{Key: key}, nil); e.Key != key || e.Value != int64(i) || e.Version != 1 {
			t.Errorf("key %q: %+v", key, e)
		}
	}
	checkOrder(t, all(t, l))
}

func concurrent(t *testing.T, open Open) {
	const clients, each = 8, 200
	l := open(t, onAll)
	answered := make([][]store.Entry, clients)
	var group sync.WaitGroup
	ctx := deadline(t)
	for c := range clients {
		group.Go(func() {
			for i := range each {
				r := store.Request{Key: string(rune('a' + i%3)), Op: int64(i), Grant: int64(c / 2), Client: int32(c),
					Token: int64(1 + (i*7+c)%50), Value: int64(i)}
				e, err := l.Do(ctx, r, i%2 == 0)
				if err != nil && !errors.Is(err, store.ErrRefused) {
					t.Errorf("client %d, op %d: %v", c, i, err)
					return
				}
				answered[c] = append(answered[c], e)
			}
		})
	}
	group.Wait()
	entries := all(t, l)
	if len(entries) != clients*each {
		t.Fatalf("%d entries, want %d", len(entries), clients*each)
	}
	checkOrder(t, entries)
	checkFences(t, entries)
	for c := range answered {
		for _, e := range answered[c] {
			if entries[e.Seq-1] != e {
				t.Fatalf("client %d was answered %+v, the ledger has %+v", c, e, entries[e.Seq-1])
			}
		}
	}
}

// checkFences decides every request of a store that fences reads and writes
// again, in the ledger's order.
func checkFences(t *testing.T, entries []store.Entry) {
	t.Helper()
	type fence struct{ token, grant int64 }
	fences := map[string]fence{}
	for _, e := range entries {
		f := fences[e.Key]
		if e.Refused != (e.Write && (e.Token < f.token || e.Token == f.token && e.Grant != f.grant)) {
			t.Fatalf("the fence stood at %+v: %+v", f, e)
		}
		if e.Token > f.token {
			f = fence{e.Token, e.Grant}
			fences[e.Key] = f
		}
		if e.Fence != f.token {
			t.Fatalf("the fence should stand at %+v: %+v", f, e)
		}
	}
}

func cancelled(t *testing.T, open Open) {
	l := open(t, unfenced)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := l.Do(ctx, store.Request{Key: "a"}, true)
	// Whether it was carried out is open, unless the error is definite. What
	// follows must go on as if nothing had been.
	do(t, l, true, store.Request{Key: "a"}, nil)
	entries := all(t, l)
	checkOrder(t, entries)
	if n := len(entries); n > 2 || (store.Definite(err) && n != 1) || (err == nil && n != 2) {
		t.Errorf("error %v, then %d entries", err, n)
	}
}

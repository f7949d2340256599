package worker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/store"
)

// interfere writes to the application's store as somebody else.
func (a *application) interfere(key string, value int64) {
	a.t.Helper()
	c, err := store.Dial(a.t.Context(), a.addr)
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(a.t.Context(), store.Request{Key: key, Op: 99, Value: value}); err != nil {
		a.t.Fatal(err)
	}
}

// TestWritesOnCondition: a write names the version that the application read
// under this grant, or wrote.
func TestWritesOnCondition(t *testing.T) {
	a := startWriter(t, false, store.WriteIfVersion)
	a.ok(wire.Command{Op: "acquire", Key: "k", Grant: 1})
	a.ok(wire.Command{Op: "read", Key: "k", Grant: 1})
	if r := a.ok(wire.Command{Op: "write", Key: "k", Grant: 1, Value: 1}); r.Version != 1 {
		t.Errorf("%+v", r)
	}
	a.ok(wire.Command{Op: "write", Key: "k", Grant: 1, Value: 2})
	a.interfere("k", 7)
	r := a.ask(wire.Command{Op: "write", Key: "k", Grant: 1, Value: 3})
	if r.Result != wire.ResultFail || !r.Conflict || r.Refused || !strings.Contains(r.Error, "no longer at version 2") {
		t.Errorf("%+v", r)
	}
	a.ok(wire.Command{Op: "release", Key: "k", Grant: 1})
	a.ok(wire.Command{Op: "acquire", Key: "k", Grant: 2})
	// nothing read under this grant: it builds on nothing
	a.ok(wire.Command{Op: "write", Key: "k", Grant: 2, Value: 9})
	if r := a.ok(wire.Command{Op: "read", Key: "k", Grant: 2}); r.Version != 4 || r.Value != 9 {
		t.Errorf("%+v", r)
	}
}

// TestWritesByAdding: the store gets the difference between what the
// application read and what it wants to write.
func TestWritesByAdding(t *testing.T) {
	a := startWriter(t, false, store.WriteAdd)
	a.ok(wire.Command{Op: "acquire", Key: "k", Grant: 1})
	a.ok(wire.Command{Op: "read", Key: "k", Grant: 1})
	a.interfere("k", 70)
	if r := a.ok(wire.Command{Op: "write", Key: "k", Grant: 1, Value: 1}); !r.Atomic || r.Value != 71 || r.Version != 2 {
		t.Errorf("%+v", r)
	}
	if r := a.ok(wire.Command{Op: "write", Key: "k", Grant: 1, Value: 3}); r.Value != 73 {
		t.Errorf("it goes on from what it believes to have written: %+v", r)
	}
	if r := a.ok(wire.Command{Op: "read", Key: "k", Grant: 1}); r.Atomic || r.Value != 73 {
		t.Errorf("%+v", r)
	}
}

// TestWhyNot: each refusal has its own words.
func TestWhyNot(t *testing.T) {
	for _, c := range []struct {
		e    store.Entry
		want string
	}{
		{store.Entry{}, ""},
		{store.Entry{Request: store.Request{Token: 4}, Refused: true, Fence: 5},
			"refused: token 4 is older than 5, which the store has seen"},
		{store.Entry{Request: store.Request{Token: 5}, Refused: true, Fence: 5},
			"refused: token 5 came to the store with another grant before"},
		{store.Entry{Request: store.Request{Token: 5, Guard: "x"}, Refused: true},
			"refused: the lock's own key, or row, is not that of token 5 any more, or says that it is done"},
		{store.Entry{Request: store.Request{Base: 2}, Conflict: true}, "conflict: the record is no longer at version 2, which was read"},
	} {
		if got := whyNot(&c.e); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

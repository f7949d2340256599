package history

import (
	"slices"
	"testing"
)

// viewed is a history of two clients. A fault freezes the first. Then the
// second is granted the key, and the first writes.
func viewed() *History {
	h := &History{Header: Header{Claims: Claims{Confirms: []string{"release"}}}, Keys: []string{"k"}}
	add := func(e Event) { h.Events = append(h.Events, e) }
	done := func(kind Kind, typ Type, op, grant int64, client int32, at int64) {
		add(Event{Type: Invoke, Kind: kind, Op: op, Grant: grant, Client: client, Time: at})
		add(Event{Type: typ, Kind: kind, Op: op, Grant: grant, Client: client, Time: at + 4, Start: at + 1, End: at + 3})
	}
	frozen := func(phase string, at int64) {
		add(Event{Type: Fault, Client: 2, Time: at, Fault: &FaultInfo{ID: 7, Phase: phase, Clients: []int32{2}}})
	}
	add(Event{Type: Mark, Text: PhaseRun, Time: 5})
	done(Acquire, OK, 1, 1, 2, 10)
	frozen("begin", 20)
	done(Acquire, OK, 1e12, 1e12, 1, 30) // a number as other tools give them
	frozen("end", 40)
	done(Write, OK, 3, 1, 2, 50)
	add(Event{Type: Ledger, Kind: Write, Op: 3, Grant: 1, Client: 2, Time: 52, Seq: 1, Version: 1})
	add(Event{Type: Fault, Time: 55, Fault: &FaultInfo{ID: 8, Phase: "begin", Service: true}})
	done(Held, OK, 4, 1, 2, 60) // no act
	done(Release, Fail, 5, 1, 2, 70)
	add(Event{Type: Lost, Grant: 1e12, Time: 80})
	// its worker never reported
	add(Event{Type: Invoke, Kind: Write, Op: 6, Grant: 1e12, Client: 1, Time: 85})
	done(Release, OK, 7, 1e12, 1, 90)
	add(Event{Type: End, Time: 99})
	return h
}

// A hold lasts from the end of its acquire to the start of its last act. Its client believes in it
// until it gives it up.
func TestViewOfHolds(t *testing.T) {
	v := NewView(viewed())
	a, b := v.Grant(1), v.Grant(1e12)
	if a == nil || b == nil || v.Grant(3) != nil || v.Grant(2) != nil {
		t.Fatalf("grants %v", v.Grants)
	}
	if a.End != 13 || a.LastAct != 51 || a.LastEnd != 73 || a.GivenUp != 70 {
		t.Errorf("the first hold: granted at %d, last act %d, all over at %d, given up at %d", a.End, a.LastAct, a.LastEnd, a.GivenUp)
	}
	if b.LastAct != 91 || b.GivenUp != 80 || len(b.Lost) != 1 {
		t.Errorf("the second hold: last act %d, given up at %d, lost %v", b.LastAct, b.GivenUp, b.Lost)
	}
	for at, want := range map[int64][]*Grant{12: nil, 13: {a}, 69: {a, b}, 70: {b}, 80: nil} {
		if got := v.HeldAt(at); !slices.Equal(got, want) {
			t.Errorf("held at %d: %v", at, got)
		}
	}
	if !slices.Equal(v.Clients, []int32{1, 2}) || v.RunStart() != 5 || v.End != 99 || !v.Complete {
		t.Errorf("clients %v, run from %d to %d, complete: %v", v.Clients, v.RunStart(), v.End, v.Complete)
	}
}

// Every event is in exactly one op, one fault, or stands alone.
func TestViewOfPlaces(t *testing.T) {
	h := viewed()
	v := NewView(h)
	places := slices.Clone(v.Singles)
	for _, o := range v.Ops {
		places = append(places, o.Places...)
	}
	for _, f := range v.Faults {
		places = append(places, f.Places...)
	}
	slices.Sort(places)
	for i, place := range places {
		if i != place || len(places) != len(h.Events) {
			t.Fatalf("of %d events %v are in the view", len(h.Events), places)
		}
	}
	if o := v.Op(3); len(o.Places) != 3 || !o.InLedger || o.Asked != 50 || o.Start != 51 || o.Decided != 52 || !o.Accepted() {
		t.Errorf("the write: %+v", o)
	}
}

// A fault is put together from its events; one that never ended lasts to the end of the history.
func TestViewOfFaults(t *testing.T) {
	v := NewView(viewed())
	if len(v.Faults) != 2 {
		t.Fatalf("%d faults", len(v.Faults))
	}
	if f := v.Faults[0]; !f.Ended || f.From != 20 || f.To != 40 || f.Victim != 2 || !f.Disturbs(2) || f.Disturbs(1) {
		t.Errorf("the first: %+v", f)
	}
	if f := v.Faults[1]; f.Ended || f.From != 55 || f.To != 99 || len(f.Struck()) != 0 {
		t.Errorf("the second: %+v", f)
	}
}

// A ledger is whole if it has each write that may have reached the store, with
// no gap in its numbers and versions.
func TestViewOfTheLedger(t *testing.T) {
	h := viewed()
	if NewView(h).WholeLedger() {
		t.Error("a write of unknown fate is not in the ledger")
	}
	h.Events = slices.DeleteFunc(h.Events, func(e Event) bool { return e.Op == 6 })
	if !NewView(h).WholeLedger() {
		t.Error("nothing is missing")
	}
	for i := range h.Events {
		if h.Events[i].Type == Ledger {
			h.Events[i].Seq = 2
		}
	}
	if NewView(h).WholeLedger() {
		t.Error("the first entry is missing")
	}
}

// TestViewOfTokens: a token of 0 is a token, whichever event of the op told it.
func TestViewOfTokens(t *testing.T) {
	h := &History{Keys: []string{"k"}, Events: []Event{
		{Type: Invoke, Kind: Acquire, Op: 1, Time: 10},
		{Type: OK, Kind: Acquire, Op: 1, Grant: 1, Time: 20, Token: TokenOf(0)},
		{Type: Invoke, Kind: Acquire, Op: 2, Time: 30},
		{Type: OK, Kind: Acquire, Op: 2, Grant: 2, Time: 40},
		{Type: Invoke, Kind: Write, Op: 3, Grant: 1, Time: 50, Token: TokenOf(0)},
		{Type: OK, Kind: Write, Op: 3, Grant: 1, Time: 60},
		{Type: Invoke, Kind: Write, Op: 4, Grant: 1, Time: 70, Token: TokenOf(7)},
		{Type: OK, Kind: Write, Op: 4, Grant: 1, Time: 80, Token: TokenOf(0)},
		{Type: End, Time: 99},
	}}
	v := NewView(h)
	for i, want := range []bool{true, false, true, true} {
		if o := v.Ops[i]; o.Token.Given() != want || o.ID == 4 && o.Token != TokenOf(7) {
			t.Errorf("op %d: token %d, has one: %v, want %v", o.ID, o.Token, o.Token.Given(), want)
		}
	}
}

package probe

import "testing"

// What servers say of a failover: that nothing was lost, that something may be, or nothing yet.
func TestAfter(t *testing.T) {
	t.Parallel()
	primary := Replica{Run: "a", Named: true, Primary: true, Stream: "s", Whole: 1}
	follower := Replica{Run: "b", InSync: true, Stream: "s"}
	before := Replication{"1": primary, "2": follower, "9": {Run: "z", Named: true, Primary: true, Stream: "other"}}
	promoted, follows := Replica{Run: "b", Named: true, Primary: true, Stream: "t"}, Replica{Run: "a", InSync: true, Stream: "t", Whole: 1}
	with := func(old, fresh Replica) Replication { return Replication{"1": old, "2": fresh, "9": before["9"]} }
	change := func(r Replica, how func(*Replica)) Replica { how(&r); return r }
	for name, c := range map[string]struct {
		now  Replication
		want Aftermath
	}{
		"it follows":                {with(follows, promoted), NothingLost},
		"before anything":           {with(primary, follower), 0},
		"it was sent all":           {with(follows, change(promoted, func(r *Replica) { r.Whole = 1 })), MayHaveLost},
		"it was started again":      {with(change(follows, func(r *Replica) { r.Run = "c" }), promoted), MayHaveLost},
		"the new one was":           {with(follows, change(promoted, func(r *Replica) { r.Run = "c" })), MayHaveLost},
		"it is gone":                {Replication{"2": promoted, "9": before["9"]}, Vanished},
		"it takes itself for one":   {with(change(primary, func(r *Replica) { r.Named = false }), promoted), 0},
		"its link is down":          {with(change(follows, func(r *Replica) { r.InSync = false }), promoted), 0},
		"it follows an old primary": {with(change(follows, func(r *Replica) { r.Stream = "other" }), promoted), MayHaveLost},
		"it follows one unknown":    {with(change(follows, func(r *Replica) { r.Stream = "else" }), promoted), MayHaveLost},
	} {
		if got := before.After(c.now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := (Replication{}).After(with(follows, promoted)); got != 0 {
		t.Errorf("nothing is known of before, and %v follows", got)
	}
}

package draw

import "testing"

// TestRows checks that no integer loses a digit on its way through a reader that has floating-point numbers only.
func TestRows(t *testing.T) {
	var r rows
	r.row(1_499, 1<<53, 1<<53+1)
	r.row(3_000_500, -1<<53-1)
	if got, _ := r.MarshalJSON(); string(got) != `[[1,9007199254740992,"9007199254740993"],[3000,"-9007199254740993"]]` {
		t.Errorf("%s", got)
	}
}

// TestUnion checks that stretches stay in order and apart.
func TestUnion(t *testing.T) {
	var all []stretch
	for _, s := range []stretch{{10, 20}, {40, 50}, {0, 5}, {18, 42}, {60, 61}} {
		all = union(all, s)
	}
	if len(all) != 3 || all[0] != (stretch{0, 5}) || all[1] != (stretch{10, 50}) || all[2] != (stretch{60, 61}) {
		t.Errorf("%v", all)
	}
	if n := opsIn([]int64{1, 2, 5, 6, 10, 50, 51}, all); n != 5 {
		t.Errorf("%d ops in %v", n, all)
	}
}

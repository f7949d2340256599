package draw

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
)

// TestRows checks that no integer loses a digit on its way through a reader
// that has floating-point numbers only.
func TestRows(t *testing.T) {
	r := table[hold]{{from: 1, to: 1 + 1<<53, token: 1<<53 + 1}, {from: 3001, to: 3001, lane: 1, key: 2, grant: -1<<53 - 1}}
	if got, err := r.MarshalJSON(); err != nil ||
		string(got) != `[[1,9007199254740992,0,0,0,"9007199254740993"],[3000,0,1,2,"-9007199254740993",0]]` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := (table[wait]{}).MarshalJSON(); err != nil || string(got) != "[]" {
		t.Errorf("no rows are %s, %v", got, err)
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

// TestTokenOfNought: a grant whose token is 0 is named by it, one without a token by its acquire.
func TestTokenOfNought(t *testing.T) {
	nought, none := &history.Grant{Op: &history.Op{ID: 1, Token: history.TokenOf(0)}}, &history.Grant{Op: &history.Op{ID: 2}}
	p := &painter{tokens: map[int64]int64{1: tokenCell(nought), 2: tokenCell(none)}}
	if a, b := p.grant(1), p.grant(2); a != "#0" || b != "grant 2" || a != reports.NameOf(nought) || b != reports.NameOf(none) {
		t.Errorf("%q and %q", a, b)
	}
	row, err := (table[hold]{{grant: 1, token: tokenCell(nought)}}).MarshalJSON()
	if want := "[[0,0,0,0,1,-9007199254740991]]"; err != nil || string(row) != want { // -Number.MAX_SAFE_INTEGER
		t.Errorf("%s, %v, want %s", row, err, want)
	}
}

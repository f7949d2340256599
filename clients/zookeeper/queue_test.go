package zookeeper

import "testing"

func TestPredecessor(t *testing.T) {
	const a, b, c = "_c_ff-lock-0000000008", "_c_aa-lock-0000000009", "_c_00-lock-0000000010"
	for _, test := range []struct {
		queue  []string
		own    string
		before string
		found  bool
	}{
		{[]string{a}, a, "", true},
		{[]string{c, a, b}, c, b, true}, // by number, not by name
		{[]string{c, b}, b, "", true},
		{[]string{a, c}, c, a, true},
		{[]string{a}, b, a, false},
		{nil, a, "", false},
		{[]string{b}, a, "", false}, // not in the queue is not the first
	} {
		if before, found := predecessor(test.queue, test.own); before != test.before || found != test.found {
			t.Errorf("%q in %q: after %q, %t", test.own, test.queue, before, found)
		}
	}
	if d := directory(root, "a/b"); d != "/lockchaos/key-a%2Fb" {
		t.Error(d)
	}
}

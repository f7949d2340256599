package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReorder: events that wait for one instant come in the order that is asked for, at their turns
// among the others, and behind them what they cause; places have their numbers. An order of events
// that there are not ends the run.
func TestReorder(t *testing.T) {
	for _, c := range []struct {
		order []int
		want  []string
		fails string
	}{
		{nil, []string{"a 1", "b 2", "c 3", "of a 0", "later 1"}, ""},
		{[]int{3, 1}, []string{"c 1", "b 2", "a 3", "of a 0", "later 1"}, ""},
		{[]int{2, 3, 1}, []string{"b 1", "c 2", "a 3", "of a 0", "later 1"}, ""},
		{[]int{1, 4}, nil, "3 wait there"},
		{[]int{1, 1}, nil, "3 wait there"},
	} {
		w := New(1, Limits{})
		w.Steady(TieDraws)
		w.Repeats()
		h, over := w.AddHost("client-1"), false
		w.After(time.Second, func() {
			h.Note("a")
			w.After(0, func() { h.Note("of a") })
		})
		w.After(time.Second, func() { h.Note("b") })
		w.After(time.Second, func() { h.Note("c") })
		w.After(2*time.Second, func() {
			h.Note("later")
			over = true
		})
		var got []string
		w.Places(func(p Place) { got = append(got, fmt.Sprint(p.Act, " ", p.Event)) })
		if c.order != nil {
			w.Reorder(Order{At: w.Now() + int64(time.Second), Events: c.order})
		}
		err := w.Run(func() bool { return over })
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%v: %v", c.order, err)
			}
		case err != nil || !slices.Equal(got, c.want):
			t.Errorf("%v: %v, %v, want %v", c.order, got, err, c.want)
		}
		w.Close()
	}
}

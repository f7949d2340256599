package experiments

import (
	"errors"
	"slices"
	"testing"
)

// What needs some of the draws keeps these, and no others.
func TestMostIsTaken(t *testing.T) {
	names := []string{"ties", "a", "b", "c", "d", "e", "f"}
	for _, needed := range [][]string{nil, {"b"}, {"ties", "f"}, names} {
		var taken []string
		tried := 0
		err := takeMost(names, func(some []string) (bool, error) {
			tried++
			ok := !slices.ContainsFunc(some, func(name string) bool { return slices.Contains(needed, name) })
			if ok {
				taken = append(taken, some...)
			}
			return ok, nil
		})
		want := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(needed, name) })
		if err != nil || !slices.Equal(taken, want) || tried >= 2*len(names) {
			t.Errorf("%v needed: %v taken in %d tries, %v", needed, taken, tried, err)
		}
	}
	boom := errors.New("no")
	if err := takeMost(names, func(some []string) (bool, error) { return false, boom }); !errors.Is(err, boom) {
		t.Error(err)
	}
}

func TestFew(t *testing.T) {
	if got := firstNames([]string{"a", "b", "c", "d", "e", "f", "g"}); got != "a, b, c, d, e, f and 1 more" {
		t.Error(got)
	}
}

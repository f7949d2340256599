package witness

import (
	"cmp"
	"slices"
)

// level says which units are left out together: it gives each a number, and
// those of one number are a group.
type level func(u *unit, i int) int64

// byGrant groups what is done under one grant, its acquire included.
func byGrant(u *unit, i int) int64 {
	return cmp.Or(u.grant(), -int64(i)-1)
}

// byUnit leaves out one at a time; an acquire goes only when nothing that was
// done under it is left, so it comes last of its grant.
func byUnit(_ *unit, i int) int64 { return int64(i) }

// reduce leaves out groups for as long as the violation stays: half of them at a time,
// then a quarter, and so on to single ones, and those again until none can be spared.
func (s *search) reduce(kept []int, of level) []int {
	groups := s.groups(kept, of)
	for size := max(1, len(groups)/2); ; {
		spared := false
		for from := 0; from < len(groups); {
			to := min(from+size, len(groups))
			rest := slices.Concat(groups[:from:from], groups[to:])
			if s.left <= 0 {
				return flat(groups)
			}
			if s.whole(rest) && s.shows(flat(rest)) {
				groups, spared = rest, true
				continue // what follows has moved here
			}
			from = to
		}
		switch {
		case size > 1:
			size = (size + 1) / 2
		case !spared:
			return flat(groups)
		}
	}
}

// groups are the units that are kept, in the groups of a level; the latest
// first, since early ones are more often what later ones need.
func (s *search) groups(kept []int, of level) (groups [][]int) {
	place := map[int64]int{}
	for _, u := range slices.Backward(kept) {
		id := of(&s.units[u], u)
		at, known := place[id]
		if !known {
			at = len(groups)
			place[id], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], u)
	}
	return groups
}

// whole reports whether every op is done under a grant whose acquire is there
// too: else the part would be no history that could have been recorded.
func (s *search) whole(groups [][]int) bool {
	acquires := map[int64]bool{}
	for _, g := range groups {
		for _, u := range g {
			if s.units[u].op() == s.units[u].grant() {
				acquires[s.units[u].op()] = true
			}
		}
	}
	for _, g := range groups {
		for _, u := range g {
			if grant := s.units[u].grant(); grant != 0 && !acquires[grant] {
				return false
			}
		}
	}
	return true
}

func flat(groups [][]int) []int {
	all := slices.Concat(groups...)
	slices.Sort(all)
	return all
}

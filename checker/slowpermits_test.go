package checker

import ()

// crowds counts the holds of a semaphore that were one too many where they
// began, by walking over the instants, and the grants that were made inside the
// promises of as many others as there are permits.
func (s *slow) crowds() int {
	n := 0
	for _, b := range s.grants {
		if s.depth(b) > s.header.Claims.Permits || s.overPromised(b, nil, 0) {
			n++
		}
	}
	return n
}

// depth is how many holds go on where one begins.
func (s *slow) depth(b *slowGrant) int {
	depth := b.takes
	if b.acts > 0 {
		for _, x := range s.grants {
			if x == b || x.acts == 0 || x.key != b.key {
				continue
			}
			if x.last > b.end && (x.end < b.end || x.end == b.end && b.last > b.end && x.id < b.id) {
				depth += x.takes
			}
		}
	}
	return depth
}

// excludes reports whether two grants can't both have been made with neither
// inside the other's promise, b not being the earlier one.
func (s *slow) excludes(x, b *slowGrant) bool {
	return x.client != b.client && x.key == b.key && !s.later(x, b, false) && s.promised(x, b.end) &&
		(s.later(b, x, false) || s.promised(b, x.end))
}

// overPromised tries every set of other grants, in the order in which they were
// made, for one that fills the permits with b besides.
func (s *slow) overPromised(b *slowGrant, chosen []*slowGrant, from int) bool {
	all := b.takes
	for _, x := range chosen {
		all += x.takes
	}
	if all > s.header.Claims.Permits {
		return true
	}
	for i := from; i < len(s.grants); i++ {
		x := s.grants[i]
		fits := x != b && s.excludes(x, b) && (s.later(b, x, false) || x.end < b.end || x.end == b.end && x.id < b.id)
		for _, o := range chosen {
			fits = fits && (s.later(b, x, false) && s.later(b, o, false) || s.excludes(x, o) || s.excludes(o, x))
		}
		if fits && s.overPromised(b, append(chosen[:len(chosen):len(chosen)], x), i+1) {
			return true
		}
	}
	return false
}

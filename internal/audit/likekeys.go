package audit

import "strings"

// mostAlike is how many keys are compared with each other.
const mostAlike = 1 << 16

// use is when a key was held, from the first grant to the last act, and by whom.
type use struct {
	from, until int64
	owner       int32
	several     bool
}

// noteAlike says that keys whose names differ only in upper case or in space around them are taken
// for two locks, where different clients held them at the same time.
func (t *tracer) noteAlike() {
	if len(t.log.Keys.List) > mostAlike {
		return
	}
	first, alike := map[string]int32{}, map[int32]int32{} // by name, and by the number of a later key
	for i, name := range t.log.Keys.List {
		name = strings.ToLower(strings.TrimSpace(name))
		if earlier, known := first[name]; known {
			alike[int32(i)] = earlier
		} else {
			first[name] = int32(i)
		}
	}
	if len(alike) == 0 {
		return
	}
	uses := make([]use, len(t.log.Keys.List))
	for n := range t.holds.Each(0, t.holds.Length) {
		h := t.holds.See(n)
		owner := t.order[h.lane-1].owner
		u := &uses[h.key]
		if u.until == 0 {
			*u = use{from: h.begin, until: h.finish, owner: owner}
		}
		u.until, u.several = max(u.until, h.finish, h.last), u.several || u.owner != owner
	}
	for i := range t.log.Keys.List {
		earlier, known := alike[int32(i)]
		a, b := uses[earlier], uses[i]
		if known && a.from < b.until && b.from < a.until && (a.several || b.several || a.owner != b.owner) {
			t.log.Assume("%q and %q are two locks, though only upper case or space around the name tells them apart.",
				t.log.Keys.List[earlier], t.log.Keys.List[i])
			return
		}
	}
}

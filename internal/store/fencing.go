package store

import (
	"fmt"
	"slices"
	"strings"
)

// Fencing says which requests raise and check the fence. The zero value is an unfenced store.
type Fencing struct {
	// Writes: a write whose token is lower than the key's fence is refused, and so is one
	// with an equal token of another grant; an accepted one raises the fence to its token.
	Writes bool
	// Reads: a read raises the fence too. Without it a stale read-modify-write
	// that overtakes the newer holder's write is accepted.
	Reads bool
	// AcceptsEqual makes the fence a broken one: it accepts an equal token of another grant.
	AcceptsEqual bool
	// Guarded: there is no fence; a write is carried out only while the lock's
	// own key in the same etcd is that of its grant. In PostgreSQL it is carried out only while
	// the scheduler's own row has the tick and its owner, and marks the tick as done with it.
	Guarded bool
}

// kinds are the stores that make sense, by name.
var kinds = []struct {
	name string
	Fencing
}{
	{"none", Fencing{}},
	{"writes", Fencing{Writes: true}},
	{"all", Fencing{Writes: true, Reads: true}},
	{"equal", Fencing{Writes: true, Reads: true, AcceptsEqual: true}},
	{"guarded", Fencing{Guarded: true}},
}

// Enabled reports whether there is a fence at all.
func (f Fencing) Enabled() bool { return f.Writes }

// String returns the name that ParseFencing reads: "none", "writes", "all", "equal" or "guarded".
func (f Fencing) String() string {
	for _, k := range kinds {
		if k.Fencing == f {
			return k.name
		}
	}
	// Validate refuses it
	return fmt.Sprintf("nonsense %t", []bool{f.Writes, f.Reads, f.AcceptsEqual, f.Guarded})
}

// Validate refuses what is no kind of store, such as a fence that only reads
// would raise, and that nothing would then check.
func (f Fencing) Validate() error {
	_, err := ParseFencing(f.String())
	return err
}

// ParseFencing reads a kind of store: "none" is unfenced, "writes" fences
// writes only, "all" fences reads too, "equal" does so and accepts an equal
// token of another grant, "guarded" asks the lock itself at each write.
func ParseFencing(name string) (Fencing, error) {
	for _, k := range kinds {
		if k.name == name {
			return k.Fencing, nil
		}
	}
	return Fencing{}, fmt.Errorf("fencing %q: want none, writes, all, equal or guarded: %w", name, ErrBadRequest)
}

// guardEngines can look at the lock's own key, or at the scheduler's row, in the transaction that
// writes.
var guardEngines = []string{"etcd", "postgres"}

// validFor refuses what the engine can't do.
func (f Fencing) validFor(engine string) error {
	if err := f.Validate(); err != nil {
		return err
	}
	if f.Guarded && !slices.Contains(guardEngines, engine) {
		return fmt.Errorf("a guarded store needs the engine %s, not %s: %w", strings.Join(guardEngines, " or "), engine,
			ErrBadRequest)
	}
	return nil
}

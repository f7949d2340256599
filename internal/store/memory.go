package store

import "context"

// Memory is a ledger in memory, for one goroutine: that of a simulation, whose clock it reads.
type Memory struct {
	fencing Fencing
	now     func() int64
	keys    map[string]*register
	entries []Entry
}

// NewMemory returns an empty ledger. now stamps its entries.
func NewMemory(f Fencing, now func() int64) (*Memory, error) {
	if err := f.validFor("memory"); err != nil {
		return nil, err
	}
	return &Memory{fencing: f, now: now, keys: map[string]*register{}}, nil
}

// Do carries a request out; see Ledger.
func (m *Memory) Do(r Request, write bool) (Entry, error) {
	if err := r.Validate(write, m.fencing); err != nil {
		return Entry{}, err
	}
	k := m.keys[r.Key]
	if k == nil {
		k = &register{}
		m.keys[r.Key] = k
	}
	e := Entry{Request: r, Write: write, Seq: int64(len(m.entries)) + 1, At: m.now()}
	if err := k.decide(&e, m.fencing); err != nil {
		return Entry{}, err
	}
	m.entries = append(m.entries, e)
	return e, e.outcome()
}

// Entries returns a piece of the ledger, and the present time: all that was decided before is in
// it.
func (m *Memory) Entries(_ context.Context, after int64, limit int) ([]Entry, int64, error) {
	if err := validPage(after, limit); err != nil {
		return nil, 0, err
	}
	rest := m.entries[min(after, int64(len(m.entries))):]
	return rest[:min(limit, len(rest))], m.now(), nil
}

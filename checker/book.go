package checker

import "github.com/lockchaos/lockchaos/history"

// book is what the judge knows by now: the keys, the clients, and who has what, or may have it.
type book struct {
	rules   *rules
	records *records

	now     int64
	cut     bool // the history was truncated; known at its end only
	keys    []*keyState
	clients []clientState
	grants  int64       // of all keys
	toPrune []*keyState // those that may have settled grants which are not forgotten

	// openSets counts the open acquires of keys in sets; asking is memory for setOf.
	openSets int
	asking   []*op

	// strays counts ops that name a grant which was over long before, malformed
	// the events that make no sense.
	strays, malformed int64
}

// clientState is what is known of one client, on every key.
type clientState struct {
	alive int64 // the last sign of life
	// latest is its latest incarnation, gone the latest that has ended.
	latest, gone int32
	holding      int // grants that it has not given up, over all keys
	// keys are those that it has asked for, and was answered; jumbled: they are
	// not in the order of their numbers. asking are its open acquires.
	keys    []*keyState
	jumbled bool
	asking  []*op
	place   int32 // among the clients of the key that it was last looked up on
	// closedAt is the latest end of a promise to it, of the grants that it has given up.
	closedAt int64
	// uncommitted are its writes in a transaction that is open; committing: it is being committed.
	uncommitted []*op
	committing  bool
}

// limits on what a sane history numbers, so that a damaged one can't make the
// judge allocate without bound.
const (
	maxKeys    = 1 << 22
	maxClients = history.MaxClients
)

// key returns the state of a key, nil when its number makes no sense.
func (bk *book) key(id history.KeyID) *keyState {
	if id >= 0 && int(id) < len(bk.keys) {
		return bk.keys[id]
	}
	return bk.newKey(id)
}

// newKey is key of one that was not met before.
func (bk *book) newKey(id history.KeyID) *keyState {
	if id < 0 || id >= maxKeys {
		return nil
	}
	for n := len(bk.keys); n <= int(id); n++ {
		bk.keys = append(bk.keys, &keyState{id: history.KeyID(n), open: openGrants{several: !bk.rules.exclusive},
			settled: settledGrants{spare: &bk.records.spareBlocks, lends: n >= fewKeys}})
	}
	return bk.keys[id]
}

// client returns the state of a client, nil when its number makes no sense.
func (bk *book) client(n int32) *clientState {
	if n >= 0 && int(n) < len(bk.clients) {
		return &bk.clients[n]
	}
	return bk.newClient(n)
}

// newClient is client of one that was not met before.
func (bk *book) newClient(n int32) *clientState {
	if n < 0 || n >= maxClients {
		return nil
	}
	for int(n) >= len(bk.clients) {
		bk.clients = append(bk.clients, clientState{})
	}
	return &bk.clients[n]
}

// keyOf returns the state of a grant's key.
func (bk *book) keyOf(g *grant) *keyState { return bk.keys[g.key] }

// nameOf returns the name of a grant's key.
func (bk *book) nameOf(g *grant) string { return bk.rules.name(bk.keyOf(g)) }

// garbled reports whether the history has events that cannot be, so that others may be missing.
func (bk *book) garbled() bool { return bk.strays > 0 || bk.malformed > 0 }

// uncertainPromises reports whether a cut history leaves open what became of the
// promises of two grants: the event that withdrew one of them may lie behind the cut.
func (bk *book) uncertainPromises(a, b *grant) bool {
	return bk.cut && (bk.now < b.end+bk.rules.delay || bk.now < a.end+bk.rules.delay)
}

// need is the earliest time that a later event can still refer to.
func (bk *book) need(k *keyState) int64 {
	need := bk.now // what is still to come may begin at this very instant
	if k.waitHead != nil {
		need = min(need, k.waitHead.inv)
	}
	return min(need, k.open.earliest())
}

package checker

import "slices"

// What is known of one client on one key. Only those that have asked for a key have a record
// there: with as many keys as clients, one for each pair would take more memory than all else.

type clientOnKey struct {
	client  int32
	place   int32 // among the clients of the key
	loose   int32
	unknown int32 // of loose, the acquires of unknown fate
	missing int32 // of unknown, those that never reported: their calls may still be under way
	// its place in the key's list of clients that could hold it, from 1; 0: it is not there
	looseAt int32
	opens   int32 // how many of the key's open grants (keyState.open) are its own
	denied  bool  // an acquire without a grant
	gone    bool  // it was closed, or is gone, and has not come back
	leased  int64 // the last instant from which a lease of what is loose may run
	over    int64 // the end of its last acquire, or of its last grant
	// unknownAt is the end of its last acquire of unknown fate.
	unknownAt int64
	// until when it may have slept in an acquire, by its own wrong clock; forever: nobody knows
	misled int64
	demand demand
	owner  ownerOnKey
}

// clientsOnKey are the clients that have asked for a key, in the order in which they came.
type clientsOnKey struct {
	all []clientOnKey
	// places finds them by their numbers, where they are many.
	places map[int32]int32
	// loose are the places of those that could still hold the key, in no order.
	loose []int32
}

// fewClients is up to how many are found by looking at each.
const fewClients = 8

// find returns what is known of a client; nil: it has not asked for the key.
func (l *clientsOnKey) find(client int32) *clientOnKey {
	if l.places != nil {
		if i, known := l.places[client]; known {
			return &l.all[i]
		}
		return nil
	}
	for i := range l.all {
		if l.all[i].client == client {
			return &l.all[i]
		}
	}
	return nil
}

// opens reports whether a client has open grants of the key.
func (l *clientsOnKey) opens(client int32) bool {
	c := l.find(client)
	return c != nil && c.opens > 0
}

// add begins what is known of a client.
func (l *clientsOnKey) add(client int32) *clientOnKey {
	place := int32(len(l.all))
	l.all = append(l.all, clientOnKey{client: client, place: place})
	switch {
	case l.places != nil:
		l.places[client] = place
	case len(l.all) > fewClients:
		l.places = map[int32]int32{}
		for i := range l.all {
			l.places[l.all[i].client] = int32(i)
		}
	}
	return &l.all[place]
}

// on returns what is known of a client on a key. A client mostly asks for one key, or has come to
// all keys in one order with the others. So its place among those of the last key is mostly right.
func (bk *book) on(k *keyState, client int32) *clientOnKey {
	c := &bk.clients[client]
	if i := int(c.place); i < len(k.by.all) && k.by.all[i].client == client {
		return &k.by.all[i]
	}
	known := k.by.find(client)
	if known == nil {
		known = bk.comes(k, c, client)
	}
	c.place = known.place
	return known
}

// comes begins what is known of a client on a key.
func (bk *book) comes(k *keyState, c *clientState, client int32) *clientOnKey {
	if n := len(c.keys); n > 0 && c.keys[n-1].id > k.id {
		c.jumbled = true
	}
	c.keys = append(c.keys, k)
	return k.by.add(client)
}

// holder returns what is known of a grant's client on its key.
func (k *keyState) holder(g *grant) *clientOnKey { return &k.by.all[g.by] }

// keysOf returns the keys that a client has asked for, and was answered, in the
// order of their numbers.
func (c *clientState) keysOf() []*keyState {
	if c.jumbled {
		slices.SortFunc(c.keys, func(a, b *keyState) int { return int(a.id) - int(b.id) })
		c.jumbled = false
	}
	return c.keys
}

// note keeps the list of clients that could still hold the key, when that has
// changed of one of them.
func (l *clientsOnKey) note(c *clientOnKey) {
	switch {
	case c.loose > 0 && c.looseAt == 0:
		l.loose = append(l.loose, c.place)
		c.looseAt = int32(len(l.loose))
	case c.loose <= 0 && c.looseAt != 0:
		last := len(l.loose) - 1
		moved := l.loose[last]
		l.loose[c.looseAt-1] = moved
		l.all[moved].looseAt = c.looseAt
		l.loose, c.looseAt = l.loose[:last], 0
	}
}

// eachLoose yields the clients that could still hold the key.
func (l *clientsOnKey) eachLoose(yield func(*clientOnKey) bool) {
	for _, i := range l.loose {
		if !yield(&l.all[i]) {
			return
		}
	}
}

// eachOpenOf calls do for the open grants that a client has of a key, in the
// order in which they came.
func (bk *book) eachOpenOf(k *keyState, client int32, do func(*grant)) {
	if !k.by.opens(client) {
		return
	}
	for g := range k.open.all {
		if g.client == client {
			do(g)
		}
	}
}

// dequeue takes an acquire out of the queue, if it is there.
func (bk *book) dequeue(k *keyState, o *op) {
	if !o.waiting {
		return
	}
	k.dequeue(o)
	if o.set != 0 {
		bk.openSets--
	}
	c := &bk.clients[o.client]
	if len(c.asking) == 1 {
		c.asking = c.asking[:0]
		return
	}
	i := slices.Index(c.asking, o)
	c.asking = slices.Delete(c.asking, i, i+1)
}

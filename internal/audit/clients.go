package audit

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// A judge sees no conflict between two grants of one client. So an owner that has
// several at a time, each of which counts, becomes several clients: "a", "a (2)" …: with
// a semaphore, and where a grant is good until it is released, for then an exclusive
// lock must not be granted twice. Clients have one number on all keys. Where they are
// too many for that, they are numbered on each key by itself, for a judge remembers each
// of them on each key; but for those that have numbers (Options.Clients).

// number gives the owners their clients: the same number on every key, where
// that is not too much for a judge to remember.
func (t *tracer) number() error {
	if t.options.Permits > 1 || t.options.Validity.Released && !t.options.Reentrant {
		t.part()
	} else {
		t.log.whole = make([]int32, len(t.order))
	}
	everyone := words.NewNames()
	t.log.everyone = &everyone
	err := errCrowd
	if len(t.options.Clients) == 0 {
		err = t.numberLanes()
	}
	if errors.Is(err, errCrowd) {
		t.log.everyone = nil
		err = t.numberLanes()
	}
	if err != nil {
		return err
	}
	for k := range t.log.clients {
		if t.log.everyone != nil {
			t.log.clients[k] = t.log.everyone.List
		}
	}
	if t.log.whole == nil {
		t.log.lanes = t.order
	}
	return nil
}

func (t *tracer) numberLanes() error {
	t.log.clients = make([][]string, len(t.log.Keys.List))
	for k := range t.log.clients {
		t.log.clients[k] = slices.Clone(t.options.Clients)
	}
	for _, la := range t.order {
		for nth := range la.parts {
			n, err := t.client(la.key, la.owner, nth)
			if err != nil {
				return err
			}
			la.parts[nth].client = n
			if t.log.whole != nil {
				t.log.whole[la.number-1] = n
			}
		}
	}
	return nil
}

// part gives each acquire a part of its owner that is free, in the order of the acquires.
func (t *tracer) part() {
	added := t.lines
	for i := range t.lines {
		t.log.ops.Trim()
		t.holds.Trim()
		for order := t.log.ops.See(i).order; added < t.log.ops.Length && t.log.ops.See(added).order < order; added++ {
			t.partOf(added)
		}
		t.partOf(i)
	}
	for ; added < t.log.ops.Length; added++ {
		t.log.ops.Trim()
		t.partOf(added)
	}
}

// partOf gives an acquire a part of its owner that is free, or a new one.
func (t *tracer) partOf(i int32) {
	a, err, until := t.log.ops.At(i), 2*int64(t.options.ClockError), int32(0)
	if a.lane == 0 {
		return
	}
	if a.part != 0 {
		h := t.holds.See(a.part - 1)
		if until = h.use; !h.ended && !h.attempted &&
			(t.options.Validity.Released || t.options.Permits > 1 && t.options.Validity.TTL > 0) {
			until = math.MaxInt32
		}
	}
	la, at := t.order[a.lane-1], a.order/2
	n := slices.IndexFunc(la.parts, func(p splitClient) bool { return p.free < at && (err == 0 || p.freeAt+err < a.Inv) })
	if n < 0 {
		n = len(la.parts)
		la.parts = append(la.parts, splitClient{})
	}
	p := &la.parts[n]
	p.free, p.freeAt = max(p.free, until), max(p.freeAt, t.done(until), t.done(at))
	a.part = int32(n)
}

// mostRemembered is how many clients, each on every key, have one number on all keys.
const mostRemembered = 1 << 18

var errCrowd = errors.New("too many clients on too many keys to number them on all keys alike")

// maxClients is how many clients of one key a judge takes.
const maxClients = 1 << 20

func (t *tracer) client(key, owner int32, nth int) (int32, error) {
	name := t.log.Owners.List[owner]
	if i := slices.Index(t.options.Clients, name); i >= 0 && nth == 0 {
		return int32(i + 1), nil
	}
	if nth > 0 {
		name = fmt.Sprintf("%s (%d)", name, nth+1)
	}
	if t.log.everyone != nil {
		n := t.log.everyone.ID(name) + 1
		if int64(n)*int64(len(t.log.Keys.List)) > mostRemembered {
			return 0, errCrowd
		}
		return n, nil
	}
	list := append(t.log.clients[key], name)
	if len(list) >= maxClients {
		return 0, fmt.Errorf("%s: more than %d clients of %s: is the field client mapped to the right column?",
			t.log.Name, maxClients, t.log.Keys.List[key])
	}
	t.log.clients[key] = list
	return int32(len(list)), nil
}

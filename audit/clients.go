package audit

import (
	"errors"
	"fmt"
	"slices"
)

// A judge sees no conflict between two grants of one client. So an owner that has several at a time, each of which counts, becomes several
// clients: "a", "a (2)" …: with a semaphore, and where a grant is good until it is released, for then an exclusive lock must not be granted
// twice. Clients have one number on all
// keys. Where they are too many for that, they are numbered on each key by itself, for a judge remembers each of them on each key; but for those that
// have numbers (Options.Clients).

// number gives every op that a judge is told its client: the same number on every key, where that is not too much for a judge to remember.
func (t *tracer) number() error {
	t.log.everyone = &names{ids: map[string]int32{}}
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
			t.log.clients[k] = t.log.everyone.list
		}
	}
	for i := range t.log.ops {
		if o := &t.log.ops[i]; o.grant != 0 {
			o.client = t.log.ops[o.grant-1].client
		}
	}
	return nil
}

func (t *tracer) numberLanes() error {
	t.log.clients = make([][]string, len(t.log.keys.list))
	for k := range t.log.clients {
		t.log.clients[k] = slices.Clone(t.options.Clients)
	}
	for _, la := range t.order {
		if err := t.numberLane(la); err != nil {
			return err
		}
	}
	return nil
}

// part is one of the clients that an owner becomes on a key.
type part struct {
	client int32
	free   int32 // the last op that it is needed for
	freeAt int64 // when that was over
}

// numberAcquire gives an acquire a part of its owner that is free, or a new one, until an op.
func (t *tracer) numberAcquire(parts *[]part, i, until int32) error {
	a, err := &t.log.ops[i], 2*int64(t.options.ClockError)
	at := a.order / 2
	if t.options.Permits == 1 && (t.options.Reentrant || !t.options.Validity.Released) && len(*parts) > 0 {
		a.client = (*parts)[0].client
		return nil
	}
	n := slices.IndexFunc(*parts, func(p part) bool { return p.free < at && (err == 0 || p.freeAt+err < a.inv) })
	if n < 0 {
		client, err := t.client(a.key, a.owner, len(*parts))
		if err != nil {
			return err
		}
		*parts, n = append(*parts, part{client: client}), len(*parts)
	}
	p := &(*parts)[n]
	p.free, p.freeAt = max(p.free, until), max(p.freeAt, t.done(until), t.done(at))
	a.client = p.client
	return nil
}

func (t *tracer) numberLane(la *lane) error {
	var parts []part
	acquires := append([]int32(nil), la.others...)
	until := map[int32]int32{}
	for _, n := range la.holds {
		h := &t.holds[n]
		acquires = append(acquires, h.acquire)
		until[h.acquire] = h.use
		if !h.ended && !h.attempted && (t.options.Validity.Released || t.options.Permits > 1 && t.options.Validity.TTL > 0) {
			until[h.acquire] = maxOps
		}
	}
	slices.SortFunc(acquires, func(a, b int32) int { return int(t.log.ops[a].order) - int(t.log.ops[b].order) })
	for _, i := range acquires {
		if err := t.numberAcquire(&parts, i, until[i]); err != nil {
			return err
		}
	}
	return nil
}

// mostRemembered is how many clients, each on every key, have one number on all keys.
const mostRemembered = 1 << 18

var errCrowd = errors.New("too many clients on too many keys to number them on all keys alike")

// maxClients is how many clients of one key a judge takes.
const maxClients = 1 << 20

func (t *tracer) client(key, owner int32, nth int) (int32, error) {
	name := t.log.owners.list[owner]
	if i := slices.Index(t.options.Clients, name); i >= 0 && nth == 0 {
		return int32(i + 1), nil
	}
	if nth > 0 {
		name = fmt.Sprintf("%s (%d)", name, nth+1)
	}
	if t.log.everyone != nil {
		n := t.log.everyone.id(name) + 1
		if int64(n)*int64(len(t.log.keys.list)) > mostRemembered {
			return 0, errCrowd
		}
		return n, nil
	}
	list := append(t.log.clients[key], name)
	if len(list) >= maxClients {
		return 0, fmt.Errorf("%s: more than %d clients of %s: is the field client mapped to the right column?", t.log.file, maxClients, t.log.keys.list[key])
	}
	t.log.clients[key] = list
	return int32(len(list)), nil
}

package foreign

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// A judge takes it that a client gives up what it has when it asks for the same key again. So an owner that has several grants of a key at a
// time becomes several clients: "a", "a (2)" …: with a semaphore, where a lock that must not be granted twice was, and where a write of an old
// grant comes after a new one was made. Clients are numbered on each key by itself, for a judge remembers each of them on each key.

// number gives every op that a judge is told its client.
func (t *tracer) number() error {
	t.log.clients = make([][]string, len(t.log.keys.list))
	for _, la := range t.order {
		if err := t.numberLane(la); err != nil {
			return err
		}
	}
	for i := range t.log.ops {
		if o := &t.log.ops[i]; o.grant != 0 {
			o.client = t.log.ops[o.grant-1].client
		}
	}
	return nil
}

// part is one of the clients that an owner becomes on a key.
type part struct {
	client int32
	free   int32 // the last op that it is needed for
}

func (t *tracer) numberLane(la *lane) error {
	var parts []part
	take := func(i, until int32) error {
		a := &t.log.ops[i]
		at := a.order / 2
		n := slices.IndexFunc(parts, func(p part) bool { return p.free < at })
		if n < 0 {
			client, err := t.client(a.key, a.owner, len(parts))
			if err != nil {
				return err
			}
			parts, n = append(parts, part{client: client}), len(parts)
		}
		parts[n].free = max(parts[n].free, until)
		a.client = parts[n].client
		return nil
	}
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
		if err := take(i, until[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxClients is how many clients of one key a judge takes.
const maxClients = 1 << 20

func (t *tracer) client(key, owner int32, nth int) (int32, error) {
	name := t.log.owners.list[owner]
	if nth > 0 {
		name = fmt.Sprintf("%s (%d)", name, nth+1)
	}
	list := append(t.log.clients[key], name)
	if len(list) >= maxClients {
		return 0, fmt.Errorf("%s: more than %d clients of %s: is the field client mapped to the right column?", t.log.file, maxClients, t.log.keys.list[key])
	}
	t.log.clients[key] = list
	return int32(len(list)), nil
}

// speak adds what is known besides the ops themselves. The client's own word: when it says that it was granted the key, it is alive and takes itself
// for the holder. And a release of unknown fate that may still happen, and end a hold that came after it: it takes the hold's promise away.
//
// Where a grant of several is good until it is released, it is a hold until then: a judge counts holds with holds and promises with promises, not both.
func (t *tracer) speak() {
	end := int64(0)
	for i := range t.log.ops {
		if o := &t.log.ops[i]; o.ret != never {
			end = max(end, o.inv, o.ret)
		} else {
			end = max(end, o.inv)
		}
	}
	for n := range t.holds {
		h := &t.holds[n]
		a := t.log.ops[h.acquire]
		if a.inferred || a.end != 0 {
			continue
		}
		said := op{kind: history.Renew, outcome: history.Fail, inv: a.ret, ret: a.ret, key: a.key, owner: a.owner, client: a.client,
			grant: h.acquire + 1, line: a.endLine, endLine: a.endLine, order: a.order + 1}
		if h.adrift == 0 {
			h.last = max(h.last, a.ret)
		} else {
			late := &t.log.ops[h.adrift-1]
			said.kind, said.outcome, said.start, said.line, said.endLine = history.Release, history.Info, a.inv, late.line, late.endLine
		}
		t.log.ops = append(t.log.ops, said)
		if h.next != 0 {
			said.kind, said.outcome, said.inv, said.ret, said.order = history.Release, history.Info, h.until, h.until, h.next
			said.start = h.until
			t.log.ops = append(t.log.ops, said)
			continue
		}
		if !t.options.Validity.Released || t.options.Permits == 1 || h.ended || h.adrift != 0 {
			continue
		}
		if h.until == never {
			said.inv, said.ret = end+1, end+1
		} else if h.tried != 0 {
			said.inv, said.ret = h.tried, h.tried
		}
		h.last = max(h.last, said.inv)
		t.log.ops = append(t.log.ops, said)
	}
}

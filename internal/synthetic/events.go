package synthetic

import "github.com/lockchaos/lockchaos/history"

// tick moves the time on.
func (g *generator) tick() int64 {
	g.now += step + int64(g.rng.Uint32()&1023)
	return g.now
}

// write writes one event, from a place of its own: so none is an allocation,
// wherever it was put together.
func (g *generator) write(e *history.Event) {
	g.events++
	if g.err == nil {
		g.written = *e
		g.err = g.emit(&g.written)
	}
}

func (g *generator) mark(phase string) {
	g.write(&history.Event{Type: history.Mark, Time: g.tick(), Text: phase})
}

// invoke begins an op; grant is 0 for an acquire.
func (g *generator) invoke(k *key, c int32, kind history.Kind, grant int64) {
	g.ops++
	if kind == history.Acquire {
		grant = g.ops
	}
	cl := &g.clients[c]
	cl.op = op{id: g.ops, grant: grant, invoked: g.tick(), kind: kind}
	g.write(&history.Event{Type: history.Invoke, Kind: kind, Time: g.now, Op: g.ops, Grant: grant, Client: c,
		Process: cl.process, Key: k.id})
}

// completion is the completion of a client's open op, now.
func (g *generator) completion(k *key, c int32, t history.Type) history.Event {
	cl := &g.clients[c]
	now := g.tick()
	return history.Event{Type: t, Kind: cl.op.kind, Time: now, Op: cl.op.id, Grant: cl.op.grant, Client: c,
		Process: cl.process, Key: k.id,
		Start: cl.op.invoked + 200, End: now - 200}
}

// store enters a completed read or write in the ledger.
func (g *generator) store(k *key, e *history.Event) {
	g.seq++
	e.Seq = g.seq
	at := e.Time - 400
	if e.Type == history.Info {
		at = e.Time
	}
	g.ledger = append(g.ledger, history.Event{Type: history.Ledger, Kind: e.Kind, Time: at, Op: e.Op, Grant: e.Grant,
		Client: e.Client, Key: k.id,
		Token: e.Token, Version: e.Version, Replaced: e.Replaced, Value: e.Value, Seq: e.Seq})
}

// flush writes what has gathered of the ledger.
func (g *generator) flush() {
	for i := range g.ledger {
		g.write(&g.ledger[i])
	}
	g.ledger = g.ledger[:0]
	g.write(&history.Event{Type: history.Watermark, Time: g.tick(), Start: g.now})
}

// windDown ends the history as the harness does: the waiters hear no, the holders
// finish, fresh clients probe every key before and after all have closed.
func (g *generator) windDown() {
	g.mark(history.PhaseQuiet)
	for i := range g.keys {
		k := &g.keys[i]
		for len(k.waiting) > 0 {
			_, e := g.refused(k)
			g.write(&e)
		}
		for k.holder != 0 {
			g.hold(k)
		}
	}
	g.flush()
	g.mark(history.PhaseProbe)
	g.probe(1)
	g.mark(history.PhaseClose)
	for c := range g.config.Clients {
		k := &g.keys[c%g.config.Keys]
		g.invoke(k, int32(c+1), history.Close, 0)
		e := g.completion(k, int32(c+1), history.OK)
		g.write(&e)
	}
	g.mark(history.PhaseFinal)
	g.probe(2)
	g.write(&history.Event{Type: history.End, Time: g.tick(), Seq: g.events})
}

// probe has a fresh client acquire and release every key.
func (g *generator) probe(nth int32) {
	c := int32(len(g.clients))
	g.clients = append(g.clients, client{process: int32(g.config.Clients) + nth})
	for i := range g.keys {
		k := &g.keys[i]
		k.bad = false
		g.invoke(k, c, history.Acquire, 0)
		grant := g.granted(k, c)
		g.invoke(k, c, history.Release, grant)
		e := g.completion(k, c, history.OK)
		g.write(&e)
	}
}

package synthetic

import (
	"math/rand/v2"

	"github.com/lockchaos/lockchaos/history"
)

// generator is a history that is being written.
type generator struct {
	config  Config
	emit    func(*history.Event) error
	err     error
	rng     *rand.Rand
	written history.Event
	events  int64
	now     int64
	ops     int64
	seq     int64
	ledger  []history.Event // not written yet
	keys    []key
	clients []client // by number

	lastProcess      int32
	badAt, unknownAt []int64 // where they are still to come
	planted          []Planted
}

// client is one client; all are at one key each.
type client struct {
	process int32
	op      op
	token   history.Token // of its last grant
}

// op is one that was invoked.
type op struct {
	id, grant, invoked int64
	kind               history.Kind
}

// key is one lock key: who wants it, who has it, and how far that one is.
type key struct {
	id      history.KeyID
	idle    []int32
	waiting []int32 // who was enqueued first is first
	token   int64
	version int64

	holder int32 // 0: nobody
	grant  int64
	stage  stage
	renews bool

	bad    bool   // this turn is at fault
	defect Defect // how

	early      int32 // who was granted the key too early, and is the next holder
	earlyGrant int64
	late       *history.Event // a write that is still on its way
}

// stage is what a holder does next.
type stage uint8

const (
	renewing stage = iota
	renewed
	reading
	read
	writing
	wrote
	releasing
	released
)

// turn lets a key go on by one event.
func (g *generator) turn(k *key) {
	chance := g.rng.Uint32()
	switch {
	case len(k.idle) > 0 && (chance&3 == 0 || k.holder == 0 && len(k.waiting) == 0):
		g.enqueue(k)
	case len(k.waiting) > 1 && chance>>2&63 == 0:
		g.giveUp(k)
	case k.holder != 0:
		g.hold(k)
	case len(k.waiting) > 0:
		g.begin(k)
	}
	if len(g.ledger) >= 64 {
		g.flush()
	}
}

// enqueue has an idle client ask for the key.
func (g *generator) enqueue(k *key) {
	i := g.rng.IntN(len(k.idle))
	c := k.idle[i]
	last := len(k.idle) - 1
	k.idle[i] = k.idle[last]
	k.idle = k.idle[:last]
	k.waiting = append(k.waiting, c)
	g.invoke(k, c, history.Acquire, 0)
}

// giveUp has the client that was enqueued last give up: with a definite no, or without knowing.
func (g *generator) giveUp(k *key) {
	c, e := g.refused(k)
	k.idle = append(k.idle, c)
	if g.due(&g.unknownAt) {
		e.Type, e.Busy, e.First, e.Text = history.Info, false, e.Start+1, "timeout"
		g.lastProcess++
		g.clients[c].process = g.lastProcess
	}
	g.write(&e)
}

// refused takes the client that was enqueued last out of the queue, with its
// answer: busy, if another has the key or asks for it.
func (g *generator) refused(k *key) (client int32, e history.Event) {
	last := len(k.waiting) - 1
	client = k.waiting[last]
	k.waiting = k.waiting[:last]
	e = g.completion(k, client, history.Fail)
	e.Busy = k.holder != 0 || last > 0
	return client, e
}

// begin gives the key to who was enqueued first.
func (g *generator) begin(k *key) {
	c := k.waiting[0]
	k.waiting = k.waiting[:copy(k.waiting, k.waiting[1:])]
	was := k.bad
	k.bad = false
	if !was && k.token > 2 && k.late == nil && g.due(&g.badAt) {
		k.bad, k.defect = true, Defect(g.rng.IntN(int(defects)))
	}
	k.holder, k.stage = c, renewing
	k.grant = g.granted(k, c)
}

// granted writes that a client was granted the key.
func (g *generator) granted(k *key, c int32) int64 {
	e := g.completion(k, c, history.OK)
	k.token += 2
	e.Token = history.TokenOf(k.token)
	if k.bad && k.defect == SmallToken {
		e.Token -= 3
		g.plant(k, e.Op)
	}
	g.clients[c].token = e.Token
	e.Enqueued = e.Start + 100
	e.Attempt = e.End - 200
	e.First = e.Attempt
	g.write(&e)
	k.renews = g.rng.Uint32()&3 == 0
	return e.Op
}

func (g *generator) plant(k *key, grant int64) {
	g.planted = append(g.planted, Planted{Defect: k.defect, Grant: grant, Key: k.id})
}

// hold lets the holder go on.
func (g *generator) hold(k *key) {
	switch k.stage {
	case renewing:
		if !k.renews {
			k.stage = reading
			g.hold(k)
			return
		}
		g.invoke(k, k.holder, history.Renew, k.grant)
	case renewed:
		e := g.completion(k, k.holder, history.OK)
		g.write(&e)
	case reading:
		if k.bad && k.defect == LateWrite { // a write without a read before it loses no update
			k.stage = writing
			g.hold(k)
			return
		}
		g.invoke(k, k.holder, history.Read, k.grant)
	case read:
		e := g.completion(k, k.holder, history.OK)
		e.Version, e.Value = k.version, k.version
		g.store(k, &e)
		g.write(&e)
	case writing:
		g.invoke(k, k.holder, history.Write, k.grant)
	case wrote:
		g.wrote(k)
	case releasing:
		if k.bad && k.defect == DoubleGrant {
			if !g.grantEarly(k) {
				return
			}
		}
		g.invoke(k, k.holder, history.Release, k.grant)
	case released:
		e := g.completion(k, k.holder, history.OK)
		g.write(&e)
		g.next(k)
		return
	}
	k.stage++
}

// wrote completes the holder's write, or loses sight of it.
func (g *generator) wrote(k *key) {
	if k.bad && k.defect == LateWrite {
		late := g.completion(k, k.holder, history.Info)
		late.End, late.Text = 0, "timeout"
		g.write(&late)
		g.lastProcess++
		g.clients[k.holder].process = g.lastProcess
		k.late = &late
		return
	}
	e := g.completion(k, k.holder, history.OK)
	k.version++
	e.Version, e.Replaced, e.Value, e.Token = k.version, k.version-1, k.version, g.clients[k.holder].token
	g.store(k, &e)
	g.write(&e)
	if late := k.late; late != nil && late.Grant != k.grant {
		k.late = nil
		k.version++
		late.Version, late.Replaced, late.Value, late.Time = k.version, k.version-1, k.version, g.now
		g.store(k, late)
		g.planted = append(g.planted, Planted{Defect: LateWrite, Grant: late.Grant, Key: k.id})
	}
}

// grantEarly gives the key to the next client while the holder has it. It is
// not done while nobody waits.
func (g *generator) grantEarly(k *key) bool {
	if len(k.waiting) == 0 {
		g.enqueue(k)
		return false
	}
	k.early = k.waiting[0]
	k.waiting = k.waiting[:copy(k.waiting, k.waiting[1:])]
	k.earlyGrant = g.granted(k, k.early)
	g.plant(k, k.earlyGrant)
	return true
}

// next passes from a holder that is done to the next one, if that one has the key already.
func (g *generator) next(k *key) {
	k.idle = append(k.idle, k.holder)
	k.holder = 0
	if k.early != 0 {
		k.bad = false
		k.holder, k.grant, k.stage, k.early = k.early, k.earlyGrant, renewing, 0
	}
}

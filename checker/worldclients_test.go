package checker

import (
	"github.com/lockchaos/lockchaos/history"
)

// What the clients of the world do over and over.

// round is one round of a client.
func (w *world) round(client int32) {
	if w.now > w.until || w.gone[w.process(client)] {
		return
	}
	process := w.process(client)
	again := func(pause int64) {
		w.later(w.now+pause, func() {
			if w.process(client) == process { // else a fresh one has taken over
				w.round(client)
			}
		})
	}
	key := history.KeyID(w.rng.IntN(w.keys))
	if w.workload == workloadTransfer {
		w.transfer(client, again)
		return
	}
	if w.workload == workloadSets {
		w.takeSet(client, again)
		return
	}
	w.call(history.Event{Kind: history.Acquire, Client: client, Key: key}, func(got history.Event) {
		if got.Type != history.OK {
			again(w.between(ms, 20*ms))
			return
		}
		w.use(client, got, func(use history.Event) {
			use.Kind = history.Release
			w.call(use, func(history.Event) { again(w.between(ms, w.rests)) })
		})
	})
}

// use reads, thinks, and writes.
func (w *world) use(client int32, got history.Event, then func(history.Event)) {
	use := history.Event{Kind: history.Read, Client: client, Key: got.Key, Grant: got.Op, Token: got.Token}
	w.call(use, func(read history.Event) {
		w.think(client, use, func() {
			use.Kind, use.Value = history.Write, read.Value+1
			if w.workload == workloadPayment && (read.Type != history.OK || read.Version > 0) {
				then(use) // it was paid already
				return
			}
			w.call(use, func(history.Event) { then(use) })
		})
	})
}

// think lets some time pass, and may renew meanwhile, or ask whether the hold stands.
func (w *world) think(client int32, use history.Event, then func()) {
	pause := w.between(ms, 40*ms)
	if w.slowThinker {
		pause = w.between(ms, 2*worldGrace)
	}
	if w.cuts && w.sometimes(4) {
		pause = w.between(worldTTL, 3*worldTTL)
	}
	if w.workload == workloadQueue || w.workload == workloadStampede {
		pause = w.between(ms, 5*ms)
	}
	wakes := w.awake(client, w.now+pause)
	if w.slowThinker && wakes > w.now+pause {
		wakes = w.awake(client, wakes+pause) // it thinks on after the pause
	}
	process := w.process(client)
	w.later(wakes, func() {
		if w.gone[process] {
			return
		}
		if !w.renews {
			then()
			return
		}
		use.Kind = [...]history.Kind{history.Renew, history.Held}[w.rng.IntN(2)]
		// whatever the answer is: an application that does not look
		w.call(use, func(history.Event) { then() })
	})
}

// transfer takes one key and, while it has it, another.
func (w *world) transfer(client int32, again func(int64)) {
	first, second := history.KeyID(0), history.KeyID(1)
	if w.crossed && w.sometimes(2) {
		first, second = second, first
	}
	w.call(history.Event{Kind: history.Acquire, Client: client, Key: first}, func(one history.Event) {
		if one.Type != history.OK {
			again(w.between(ms, 20*ms))
			return
		}
		w.call(history.Event{Kind: history.Acquire, Client: client, Key: second}, func(two history.Event) {
			giveBack := func() {
				w.call(history.Event{Kind: history.Release, Client: client, Key: first, Grant: one.Op},
					func(history.Event) { again(w.between(ms, 30*ms)) })
			}
			if two.Type != history.OK {
				giveBack()
				return
			}
			w.use(client, two, func(use history.Event) {
				use.Kind = history.Release
				w.call(use, func(history.Event) { giveBack() })
			})
		})
	})
}

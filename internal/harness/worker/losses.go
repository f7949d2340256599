package worker

import (
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
)

// watch passes lost-events on.
func (w *Worker) watch(lost <-chan clients.Loss) {
	for loss := range lost {
		w.Loses(loss)
	}
}

// Loses passes a lost-event on, and lets the application know. An event for a
// grant that the library has made and the application has not been given yet waits
// for it (claim); one for a grant that is given back already is of no interest.
func (w *Worker) Loses(loss clients.Loss) {
	at := w.now()
	w.mu.Lock()
	h, holds := w.grants[loss.Key]
	holds = holds && (loss.Token == 0 || loss.Token == h.grant.Token)
	if holds {
		h.lost = true
		w.grants[loss.Key] = h
	} else {
		w.early[loss.Key] = earlyLoss{loss, at}
	}
	w.mu.Unlock()
	if holds {
		w.tell(loss, h.op, at)
	}
}

// earlyLoss is a lost-event that came when no such grant was known, and when.
type earlyLoss struct {
	clients.Loss
	at int64
}

// of reports whether it is the loss of a grant whose acquire began at since. Without a
// token it can't be if it came before; one that came during the acquire is taken for the
// new grant's, since a lock withdraws an older grant's event when that is given back.
func (e earlyLoss) of(g clients.Grant, since int64) bool {
	if e.Token == 0 {
		return e.at >= since
	}
	return e.Token == g.Token
}

func (w *Worker) tell(loss clients.Loss, grant, at int64) {
	// the next answer will fail as well
	_ = w.send(wire.Reply{Event: wire.EventLost, Key: loss.Key, Grant: grant, Error: loss.Why, From: at})
}

// claim takes a new grant of a key, whose acquire began at since, into the
// application's belief. If it has been lost meanwhile, that is told now.
func (w *Worker) claim(g clients.Grant, key string, op, since int64) {
	w.mu.Lock()
	early, known := w.early[key]
	delete(w.early, key)
	lost := known && early.of(g, since)
	w.grants[key] = believedGrant{grant: g, op: op, lost: lost}
	w.mu.Unlock()
	if lost {
		w.tell(early.Loss, op, early.at)
	}
}

package oracle

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// A reentrant lock knows its owner and a count. A release names the grant that it gives
// back, and one of unknown fate may have been carried out. Sent again, it may so have
// given back two levels, and a correct lock be free while its owner takes itself for the
// holder. What the owner does then shows nothing: an act counts only if the owner has more
// levels than releases, of other grants than the act's, that may have been carried out.

// ownerOn is one owner on one key.
type ownerOn struct {
	client int32
	key    history.KeyID
}

// nest is what an owner has of a key.
type nest struct {
	levels []int64 // the grants that it has not given back, oldest first
	lost   []int64 // those of them that it knows to be lost
	// releases that may have been carried out, and the grants that they name;
	// 0: none that the owner has
	unknown map[int64]int64
}

// owners are those of a reentrant lock. Of any other lock it is nil, and does nothing.
type owners map[ownerOn]*nest

func (o owners) of(e *history.Event) *nest {
	at := ownerOn{e.Client, e.Key}
	if o[at] == nil {
		o[at] = &nest{unknown: map[int64]int64{}}
	}
	return o[at]
}

// asks handles the invocation of an acquire: an owner does not nest in what it knows to be lost.
func (o owners) asks(e *history.Event) {
	if o != nil {
		n := o.of(e)
		for _, grant := range n.lost {
			n.giveBack(grant)
		}
		n.lost = nil
	}
}

func (o owners) granted(e *history.Event) {
	if o != nil {
		n := o.of(e)
		n.levels = append(n.levels, e.Op)
	}
}

// knowsLoss notes that an owner has been told, or knows by itself, that it has lost what it had.
func (o owners) knowsLoss(e *history.Event) {
	if o != nil {
		if n := o.of(e); slices.Contains(n.levels, e.Grant) {
			n.lost = slices.Clone(n.levels)
		}
	}
}

// releases handles the invocation of a release.
func (o owners) releases(e *history.Event) {
	if o == nil {
		return
	}
	n := o.of(e)
	switch {
	case slices.Contains(n.levels, e.Grant):
		n.unknown[e.Op] = e.Grant
	case len(n.levels) > 0:
		n.unknown[e.Op] = 0
	}
}

// released handles the answer to a release, and returns the newest grant that
// its owner then had, which is the one that a confirming answer speaks for.
func (o owners) released(e *history.Event) (newest int64) {
	if o == nil {
		return e.Grant
	}
	n := o.of(e)
	named := n.unknown[e.Op]
	if len(n.levels) > 0 {
		newest = n.levels[len(n.levels)-1]
	}
	switch {
	case e.Type == history.OK && named != 0:
		n.giveBack(named)
		delete(n.unknown, e.Op)
	case e.Type == history.Fail:
		delete(n.unknown, e.Op)
		if e.NotHeld && named != 0 {
			n.giveBack(named)
		}
	}
	if named == 0 {
		return 0
	}
	return newest
}

func (n *nest) giveBack(grant int64) {
	if i := slices.Index(n.levels, grant); i >= 0 {
		n.levels = slices.Delete(n.levels, i, i+1)
	}
	if len(n.levels) == 0 {
		clear(n.unknown)
	}
}

// uncertain reports whether an act shows nothing, since its owner may have given
// back all that it had.
func (o owners) uncertain(e *history.Event) bool {
	if o == nil {
		return false
	}
	n := o.of(e)
	others := 0
	for _, named := range n.unknown {
		if named != e.Grant {
			others++
		}
	}
	return others > 0 && others >= len(n.levels)
}

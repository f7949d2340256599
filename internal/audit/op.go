package audit

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/times"
)

// never is when what did not happen happens.
const never = times.Never

// op is one operation, as every format is read into it, or the news of a loss (outcome Lost).
type op struct {
	formats.Call // its times put the events in order; its outcome is Lost for news
	// start and end, when not 0, are what is known instead of when it happened.
	start, end int64
	// of an acquire that was asked before: when the attempt began that succeeded; 0: not known
	attempt int64
	grant   int32 // the acquire that it is done under, from 1 like ops; 0: none
	// of an acquire that the judge is told: its owner's on the key, from 1; 0: none
	lane  int32
	order int32 // decides between events of the same instant
	// part is, of an acquire, its hold plus one (0: none), until it is the
	// number of the client among those that its owner becomes.
	part int32
	// an acquire of the token that its owner had been given before: that tells
	// nothing about the order of tokens
	mute bool
	// a write of a grant that its owner had replaced by a newer one: only the ledger has it
	late     bool
	inferred bool // an acquire that the log lacks
	untold   bool // a write that the judge is not told after all
	// the owner's next op on the key is a release that was answered ok; looked
	// for only where locks are reentrant
	then     bool
	wrote    bool // an acquire under which there was a write
	judgedAs judgedAs
	cut      times.Grain // of its stamps, where its owner's are cut and others are finer
}

// judgedAs is what a line says, where its op is judged as one of another kind.
type judgedAs uint8

const (
	shownAsItIs  judgedAs = iota
	shownAgain            // an owner's nested acquire
	shownInner            // the release of one
	shownRelease          // a release after which its owner went on
	shownLoss             // the news of a loss
)

// begin and finish are what is known of when the op happened.
func (o *op) begin() int64 { return cmp.Or(o.start, o.Inv) }

func (o *op) finish() int64 {
	if o.end != 0 || o.Ret == never {
		return cmp.Or(o.end, o.Ret)
	}
	return o.Ret + o.cut.Cut()
}

// act reports whether the op shows that its client acted as holder.
func (o *op) act() bool {
	switch o.Outcome {
	case history.OK:
		return o.Kind.Acts() || o.Kind == history.Release
	case history.Fail:
		return o.Kind.Acts()
	}
	return false
}

func (o *op) shift(by int64) {
	o.Inv += by
	if o.attempt != 0 {
		o.attempt += by
	}
	if o.Ret != never {
		o.Ret += by
	}
}

var errNoAcquire = errors.New("there is no acquire in it, and no write with a token: nothing tells about a lock")

// errNoGrant is errNoAcquire where lines act under a lock.
var errNoGrant = fmt.Errorf("%w", errNoAcquire)

// ownerKey is an owner on a key.
type ownerKey struct{ key, owner int32 }

// tells is when an op tells something.
func (o *op) tells(i int32) endpoint {
	if o.Kind == history.Acquire && o.Ret != never {
		return endpointOf(o.Ret, false, o.order, i, false)
	}
	return endpointOf(o.Inv, false, o.order, i, false)
}

// latest is when an op was answered, or asked if it never was.
func (o *op) latest() int64 {
	if o.Ret != never {
		return max(o.Inv, o.Ret)
	}
	return o.Inv
}

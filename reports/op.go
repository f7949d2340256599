package reports

import "github.com/lockchaos/lockchaos/history"

// Op is one operation, put together from its events.
type Op struct {
	ID, Grant       int64
	Kind            history.Kind
	Mode            history.Mode // of an acquire of a reader-writer lock
	Key             history.KeyID
	Client          int32
	Start, End      int64 // the worker's stamps, or the recorder's where the worker told none
	reported        bool  // the worker told its stamps
	How             history.Type
	Token           int64
	Version         int64
	Replaced, value int64
	seq             int64
	Decided         int64 // when the store decided about it, by the ledger; 0: the ledger does not tell
	ValidFor        int64
	HasValidFor     bool
	attempt         int64
	Declined        bool
	Refused         bool
	Conflict        bool // the store had another version than the write was made from
	NotHeld, Busy   bool
	InLedger        bool
	Text            string
}

// Accepted tells whether the store took the write: its answer says so, or its ledger.
func (o *Op) Accepted() bool {
	return o.Kind == history.Write && !o.Refused && !o.Conflict && (o.How == history.OK || o.InLedger)
}

// lateWrite is from when on the time between a write's sending and its arrival is worth telling.
const lateWrite = int64(20e6)

// Late tells of a write that was long under way.
func (o *Op) Late() bool { return o.Kind == history.Write && o.Decided-o.Start > lateWrite }

// AtStore is when the store had to do with the op: when it decided about a write that was long under way, when a read was answered at last, else when the client began it.
func (o *Op) AtStore() int64 {
	switch {
	case o.Late():
		return o.Decided
	case o.Slow():
		return o.End
	}
	return o.Start
}

// Slow tells of a read whose answer was long in coming.
func (o *Op) Slow() bool {
	return o.Kind == history.Read && o.How == history.OK && o.End-o.Start > lateWrite
}

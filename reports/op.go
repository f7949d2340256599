package reports

import "github.com/lockchaos/lockchaos/history"

// op is one operation, put together from its events.
type op struct {
	id, grant       int64
	kind            history.Kind
	mode            history.Mode // of an acquire of a reader-writer lock
	key             history.KeyID
	client          int32
	start, end      int64 // the worker's stamps, or the recorder's where the worker told none
	reported        bool  // the worker told its stamps
	how             history.Type
	token           int64
	version         int64
	replaced, value int64
	seq             int64
	decided         int64 // when the store decided about it, by the ledger; 0: the ledger does not tell
	validFor        int64
	hasValidFor     bool
	attempt         int64
	declined        bool
	refused         bool
	conflict        bool // the store had another version than the write was made from
	notHeld, busy   bool
	inLedger        bool
	text            string
}

// accepted tells whether the store took the write: its answer says so, or its ledger.
func (o *op) accepted() bool {
	return o.kind == history.Write && !o.refused && !o.conflict && (o.how == history.OK || o.inLedger)
}

// lateWrite is from when on the time between a write's sending and its arrival is worth telling.
const lateWrite = int64(20e6)

// late tells of a write that was long under way.
func (o *op) late() bool { return o.kind == history.Write && o.decided-o.start > lateWrite }

// atStore is when the store had to do with the op: when it decided about a write that was long under way, when a read was answered at last, else when the client began it.
func (o *op) atStore() int64 {
	switch {
	case o.late():
		return o.decided
	case o.slow():
		return o.end
	}
	return o.start
}

// slow tells of a read whose answer was long in coming.
func (o *op) slow() bool {
	return o.kind == history.Read && o.how == history.OK && o.end-o.start > lateWrite
}

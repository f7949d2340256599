package formats

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Call is an operation that a history tells whole: who asked what of which key,
// when, and how it ended.
type Call struct {
	// Inv and Ret are the instants (ns) at which it was asked and answered; Ret
	// is times.Never where no answer is known.
	Inv, Ret      int64
	Token         history.Token
	Key, Owner    int32 // numbers of the file's names
	Line, EndLine int32 // on which it was asked and answered
	Kind          history.Kind
	Outcome       history.Type // OK, Fail, Info; TypeNone: no answer
	Busy          bool         // an acquire was refused
	NotHeld       bool         // an error says that the lock is not the client's
	Refused       bool         // a write was refused by a fence
}

// Calls is where the calls of a file are put. They are numbered from 0.
type Calls interface {
	Add(Call) (int32, error)
	// At returns a call that may be changed. It is good until the next one is asked for or added.
	At(i int32) *Call
	Count() int32
}

// ended notes how a call ended. denied: an error says that the lock is not the client's.
func (c *Call) ended(how words.Ending, denied bool) {
	c.Outcome = how.Outcome()
	failed, acquires := c.Outcome == history.Fail, c.Kind == history.Acquire
	c.Busy, c.NotHeld = failed && acquires, failed && !acquires && denied
}

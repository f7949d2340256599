package wire

import (
	"time"

	"github.com/lockchaos/lockchaos/clients"
)

// Command is one line from the harness to a worker.
type Command struct {
	ID  int64  `json:"id,omitempty"`
	Op  string `json:"op,omitempty"`
	Key string `json:"key,omitempty"`
	// Keys are those of a call for several, Key first; nil: it is for Key
	// alone. The grant of each is one more than that of the one before.
	Keys []string `json:"keys,omitempty"`
	// Read: an acquire is a reader's.
	Read bool `json:"read,omitempty"`
	// Permits is how many an acquire asks for; 0: one.
	Permits int `json:"permits,omitempty"`
	// Grant is the op of the acquire that this op is done under (for an acquire its own op).
	Grant int64 `json:"grant,omitempty"`
	// Timeout bounds the library call, in ns.
	Timeout int64 `json:"timeout,omitempty"`
	Value   int64 `json:"value,omitempty"`
	// Open is set on the first command only.
	Open *Opening `json:"open,omitempty"`
}

// AllKeys returns the keys that the command is for.
func (c *Command) AllKeys() []string { return KeysOf(c.Key, c.Keys) }

// KeysOf returns the keys of a call: those of a set, or else key alone.
func KeysOf(key string, set []string) []string {
	if len(set) > 0 {
		return set
	}
	return []string{key}
}

// Opening tells a worker who it is. Durations are ns.
type Opening struct {
	Lock  string   `json:"lock"`
	Nodes []string `json:"nodes"`
	// Account is one with a password at the service, for locks that insist on
	// one; nil: none is known.
	Account *clients.Account `json:"account,omitempty"`
	Store   string           `json:"store"`
	TTL     time.Duration    `json:"ttl"`
	// Every is the period of a job; 0: it is none.
	Every  time.Duration `json:"every,omitempty"`
	Client int32         `json:"client"`
	// Twins: the first so many clients have one identity.
	Twins int    `json:"twins,omitempty"`
	Seed  uint64 `json:"seed"`
	// Decline: the application stops when it knows that its hold is lost (guard "check" or "told").
	Decline bool `json:"decline"`
	// Isolation is the level of the transactions that all reads and writes are parts of; empty:
	// of none.
	Isolation string `json:"isolation,omitempty"`
	// Stall is how late a heartbeat must be to be reported.
	Stall int64 `json:"stall"`
	// Adapter is the program that is the lock, if it is one.
	Adapter *clients.Adapter `json:"adapter,omitempty"`
	// Lent: the service is somebody else's, and may grant other leases than were asked for.
	Lent bool `json:"lent,omitempty"`
}

// The results of an op.
const (
	ResultOK   = "ok"
	ResultFail = "fail"
	ResultInfo = "info"
)

// The commands that are no ops: they hold an activity of the worker up for
// Timeout, and are answered by events.
const (
	OpHoldApplication = "hold-application"
	OpHoldRenewals    = "hold-renewals"
)

// The events that a worker tells of by itself. Those of a stall have its command's ID as
// Grant; that of the end has as Value what went on or waited meanwhile (nemesis.StallReport.Count).
const (
	EventLost       = "lost"
	EventStall      = "stall"
	EventHoldBegins = "hold-begins"
	EventHoldEnds   = "hold-ends"
	EventSession    = "session"
)

// Reply is one line from a worker: the answer to the command of the same ID, or
// an event (ID 0). Stamps are of the machine's monotonic clock (monotime.Now).
type Reply struct {
	ID     int64  `json:"id,omitempty"`
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`

	Start    int64  `json:"start,omitempty"`
	End      int64  `json:"end,omitempty"`
	Token    int64  `json:"token,omitempty"`
	Attempt  int64  `json:"attempt,omitempty"`
	First    int64  `json:"first,omitempty"`
	Enqueued int64  `json:"enqueued,omitempty"`
	ValidFor *int64 `json:"valid_for,omitempty"`
	Version  int64  `json:"version,omitempty"`
	Replaced int64  `json:"replaced,omitempty"`
	Value    int64  `json:"value,omitempty"`
	Seq      int64  `json:"seq,omitempty"`

	Declined bool `json:"declined,omitempty"`
	Refused  bool `json:"refused,omitempty"`
	NotHeld  bool `json:"not_held,omitempty"`
	Busy     bool `json:"busy,omitempty"`
	Conflict bool `json:"conflict,omitempty"`
	Atomic   bool `json:"atomic,omitempty"`

	// CanAsk and CanRenew, in the answer to open: the lock can be asked whether
	// a grant still stands, grants are renewed by the application.
	CanAsk   bool `json:"can_ask,omitempty"`
	CanRenew bool `json:"can_renew,omitempty"`

	// Declares, in the answer to open, is what the lock says of itself, where
	// that was not known before.
	Declares *clients.Declaration `json:"declares,omitempty"`
	// Broken: the program that is the lock broke its protocol, or its service is
	// none that can be judged; Error says how. No answer of it counts any more.
	Broken bool `json:"broken,omitempty"`

	Event string `json:"event,omitempty"`
	Key   string `json:"key,omitempty"`
	Grant int64  `json:"grant,omitempty"`
	From  int64  `json:"from,omitempty"`
	To    int64  `json:"to,omitempty"`
	// Session and Password (in hexadecimal), in a session-event: what the lock's service knows
	// the client's newest session by. In the answer to an acquire, Session is that of the grant.
	Session  int64  `json:"session,omitempty"`
	Password string `json:"password,omitempty"`
}

// MaxMessage bounds one line between harness and worker.
const MaxMessage = 1 << 20

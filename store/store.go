package store

import "context"

// Request is one read or write, as a client sends it.
type Request struct {
	Key string `json:"key"`
	// Op and Grant are the history's numbers of this op and of the grant it is done under; the store only keeps them.
	Op     int64 `json:"op"`
	Grant  int64 `json:"grant"`
	Client int32 `json:"client"`
	// Token is the fencing token of the grant; 0: none.
	Token int64 `json:"token,omitempty"`
	// Value is what a write writes.
	Value int64 `json:"value,omitempty"`
}

// Entry is one line of the ledger: a read, an accepted write or a refused write. Entries are never changed or removed.
type Entry struct {
	Request
	// Seq is the entry's place in the ledger, over all keys, from 1, without holes.
	Seq int64 `json:"seq"`
	// Write tells a write from a read; Refused a write that the fence refused.
	Write   bool `json:"write,omitempty"`
	Refused bool `json:"refused,omitempty"`
	// Version is the version read or created (0: the key is empty, or the write was refused); versions of a key count 1, 2, 3 …
	Version int64 `json:"version"`
	// Replaced is the version that an accepted write replaced.
	Replaced int64 `json:"replaced,omitempty"`
	// Fence is the key's fence after this entry: the highest token seen.
	Fence int64 `json:"fence,omitempty"`
	// At is the store's monotime.Now when it decided.
	At int64 `json:"at"`
}

// Ledger is an engine: it decides, orders and keeps. Safe for concurrent use.
type Ledger interface {
	// Do reads (write false) or writes, and returns the entry that it appended.
	Do(ctx context.Context, r Request, write bool) (Entry, error)
	// Entries returns up to limit entries after the given sequence number, in order.
	Entries(ctx context.Context, after int64, limit int) ([]Entry, error)
	// Close gives up the engine's files.
	Close() error
}

// Fencing says which requests raise and check the fence.
type Fencing struct {
	// Writes: a write whose token is lower than the key's fence is refused; an accepted one raises the fence to its token.
	Writes bool
	// Reads: a read raises the fence too. Without it a stale read-modify-write that overtakes the newer holder's write is accepted.
	Reads bool
}

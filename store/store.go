package store

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxKey is the length of the longest key, in bytes.
const MaxKey = 256

// MaxEntries is the greatest number of entries that one call of Entries returns.
const MaxEntries = 10_000

// Request is one read or write, as a client sends it.
type Request struct {
	Key string `json:"key"`
	// Op and Grant are the history's numbers of this op and of the grant it is done under; the store only keeps them.
	Op     int64 `json:"op"`
	Grant  int64 `json:"grant"`
	Client int32 `json:"client"`
	// Token is the fencing token of the grant; 0: none.
	Token int64 `json:"token,omitempty"`
	// Value is what a write writes. On the entry of a read it is what was read.
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
	// At is the store's monotime.Now when it decided. It never falls as Seq rises.
	At int64 `json:"at"`
}

// Ledger is an engine: it decides, orders and keeps. Safe for concurrent use.
type Ledger interface {
	// Do reads (write false) or writes, and returns the entry that it appended. With ErrRefused it returns the entry of the
	// refusal. An error that Definite does not know leaves open whether an entry was, or will be, appended.
	Do(ctx context.Context, r Request, write bool) (Entry, error)
	// Entries returns up to limit entries (at most MaxEntries) after the given sequence number, in order. They include every
	// entry after that number whose Do returned before the call, unless the limit cuts them off.
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

// Enabled tells whether there is a fence at all.
func (f Fencing) Enabled() bool { return f.Writes }

// String returns the name that ParseFencing reads: "none", "writes" or "all".
func (f Fencing) String() string {
	switch {
	case f.Writes && f.Reads:
		return "all"
	case f.Writes:
		return "writes"
	case f.Reads:
		return "reads" // nonsense that Validate refuses
	}
	return "none"
}

// Validate refuses a fence that only reads would raise, and that nothing would then check.
func (f Fencing) Validate() error {
	if f.Reads && !f.Writes {
		return fmt.Errorf("fencing: reads can only be fenced together with writes: %w", ErrBadRequest)
	}
	return nil
}

// ParseFencing reads a kind of store: "none" is unfenced, "writes" fences writes only, "all" fences reads too.
func ParseFencing(name string) (Fencing, error) {
	switch name {
	case "none":
		return Fencing{}, nil
	case "writes":
		return Fencing{Writes: true}, nil
	case "all":
		return Fencing{Writes: true, Reads: true}, nil
	}
	return Fencing{}, fmt.Errorf("fencing %q: want none, writes or all: %w", name, ErrBadRequest)
}

// Validate refuses what no engine should have to think about. Every engine calls it first, so that all engines
// refuse the same requests, in the same words.
func (r Request) Validate(write bool, f Fencing) error {
	switch {
	case r.Key == "":
		return fmt.Errorf("no key: %w", ErrBadRequest)
	case len(r.Key) > MaxKey:
		return fmt.Errorf("key of %d bytes, at most %d are allowed: %w", len(r.Key), MaxKey, ErrBadRequest)
	case !utf8.ValidString(r.Key) || strings.ContainsRune(r.Key, 0):
		return fmt.Errorf("key %q is not text: %w", r.Key, ErrBadRequest)
	case r.Token < 0 || r.Op < 0 || r.Grant < 0 || r.Client < 0:
		return fmt.Errorf("key %q: a token, op, grant or client below zero: %w", r.Key, ErrBadRequest)
	case write && r.Token == 0 && f.Writes:
		// Neither accepting nor refusing would be honest: the first leaves a hole in the fence, the second would look like
		// a stale write. The pairing is wrong, and it is said before anything is concluded from it.
		return fmt.Errorf("key %q: a write without a fencing token to a fenced store; use a lock that issues tokens, or an unfenced store: %w",
			r.Key, ErrBadRequest)
	}
	return nil
}

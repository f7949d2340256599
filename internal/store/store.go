package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxKey is the length of the longest key, in bytes.
const MaxKey = 256

// MaxGuard is the length of the longest guard, in bytes.
const MaxGuard = 1024

// MaxEntries is the greatest number of entries that one call of Entries returns.
const MaxEntries = 10_000

// Request is one read or write, as a client sends it.
type Request struct {
	Key string `json:"key"`
	// Op and Grant are the history's numbers of this op and of the grant it is
	// done under; the store only keeps them.
	Op     int64 `json:"op"`
	Grant  int64 `json:"grant"`
	Client int32 `json:"client"`
	// Token is the fencing token of the grant; 0: none.
	Token int64 `json:"token,omitempty"`
	// Value is what a write writes. On the entry of a read it is what was read,
	// on that of an accepted write what was written.
	Value int64 `json:"value,omitempty"`
	// Mode is how a write is to be carried out: one of the Write modes.
	Mode string `json:"mode,omitempty"`
	// Base is the version that a write of mode WriteIfVersion was made from.
	Base int64 `json:"base,omitempty"`
	// Guard is the key of the lock in etcd whose create revision must still be Token, for a write
	// to a guarded store. In PostgreSQL it is the owner of the scheduler's row of the key, whose
	// tick must still be Token, and not done.
	Guard string `json:"guard,omitempty"`
}

// The modes of a write.
const (
	// WritePlain puts the value in place of whatever there is.
	WritePlain = ""
	// WriteIfVersion does so only if the key's version is still Request.Base
	// ("UPDATE … WHERE version = $1"): an optimistic lock.
	WriteIfVersion = "if-version"
	// WriteAdd adds the value to the key's ("UPDATE … SET value = value + $1"),
	// in one step that nothing can come between.
	WriteAdd = "add"
)

// Entry is one line of the ledger: a read, an accepted write or a refused
// write. Entries are never changed or removed.
type Entry struct {
	Request
	// Seq is the entry's place in the ledger, over all keys, from 1, without holes.
	Seq int64 `json:"seq"`
	// Write tells a write from a read; Refused a write that the fence, or the guard, refused;
	// Conflict one that found another version than its Base. Neither was carried out.
	Write    bool `json:"write,omitempty"`
	Refused  bool `json:"refused,omitempty"`
	Conflict bool `json:"conflict,omitempty"`
	// Version is the version read or created (0: the key is empty, or the write
	// was not carried out); versions of a key count 1, 2, 3 …
	Version int64 `json:"version"`
	// Replaced is the version that an accepted write replaced.
	Replaced int64 `json:"replaced,omitempty"`
	// Fence is the key's fence after this entry: the highest token seen.
	Fence int64 `json:"fence,omitempty"`
	// At is the store's monotime.Now when it decided. It never falls as Seq rises. Where
	// another server decides (Remote), it is taken right before that server is asked.
	At int64 `json:"at"`
}

// Atomic reports whether the entry is an accepted write that read and wrote in
// one step: it replaced nothing unseen.
func (e Entry) Atomic() bool { return e.Write && e.Mode == WriteAdd && !e.Refused && !e.Conflict }

// Ledger is an engine: it decides, orders and keeps. Safe for concurrent use.
type Ledger interface {
	// Do reads (write false) or writes, and returns the entry that it appended. With
	// ErrRefused and ErrConflict it returns the entry that says so. An error that
	// Definite does not know leaves open whether an entry was, or will be, appended.
	Do(ctx context.Context, r Request, write bool) (Entry, error)
	// Entries returns up to limit entries (at most MaxEntries) after the given
	// sequence number, in order. They include every entry after that number
	// whose Do returned before the call, unless the limit cuts them off.
	Entries(ctx context.Context, after int64, limit int) ([]Entry, error)
	// Close gives up the engine's files.
	Close() error
}

// Validate refuses what no engine should have to think about. Every engine calls
// it first, so that all engines refuse the same requests, in the same words.
func (r Request) Validate(write bool, f Fencing) error {
	for _, fault := range [...]string{r.badKey(), r.malformed(write), r.unfit(write, f)} {
		if fault != "" {
			return fmt.Errorf("%s: %w", fault, ErrBadRequest)
		}
	}
	return nil
}

// badKey says what is wrong with the key; "": nothing.
func (r Request) badKey() string {
	switch {
	case r.Key == "":
		return "no key"
	case len(r.Key) > MaxKey:
		return fmt.Sprintf("key of %d bytes, at most %d are allowed", len(r.Key), MaxKey)
	case !utf8.ValidString(r.Key) || strings.ContainsRune(r.Key, 0):
		return fmt.Sprintf("key %q is not text", r.Key)
	}
	return ""
}

// malformed says what is wrong with the rest of the request, whatever the store.
func (r Request) malformed(write bool) string {
	switch {
	case min(r.Token, r.Op, r.Grant, int64(r.Client)) < 0:
		return fmt.Sprintf("key %q: a token, op, grant or client below zero", r.Key)
	case !write && (r.Mode != "" || r.Base != 0 || r.Guard != ""):
		return fmt.Sprintf("key %q: a read with a mode, a base or a guard", r.Key)
	case !slices.Contains([]string{WritePlain, WriteIfVersion, WriteAdd}, r.Mode):
		return fmt.Sprintf("key %q: mode %q: want none, %s or %s", r.Key, r.Mode, WriteIfVersion, WriteAdd)
	case r.Base < 0 || r.Base > 0 && r.Mode != WriteIfVersion:
		return fmt.Sprintf("key %q: base %d in a write of mode %q", r.Key, r.Base, r.Mode)
	case len(r.Guard) > MaxGuard || !utf8.ValidString(r.Guard):
		return fmt.Sprintf("key %q: a guard of %d bytes, at most %d of text are allowed", r.Key, len(r.Guard), MaxGuard)
	}
	return ""
}

// unfit says why the request does not go with the store's fencing.
func (r Request) unfit(write bool, f Fencing) string {
	switch {
	case write && f.Guarded && (r.Guard == "" || r.Token == 0):
		return fmt.Sprintf("key %q: a write that names no lock key to a guarded store; use a lock that does (etcd-txn, pg-cron-exact), or another store", r.Key)
	case !f.Guarded && r.Guard != "":
		return fmt.Sprintf("key %q: a write under a guard to a store that looks at none", r.Key)
	case write && r.Token == 0 && f.Writes:
		// Neither accepting nor refusing would be honest: the first leaves a
		// hole in the fence, the second would look like a stale write. The
		// pairing is wrong, and it is said before anything is concluded from it.
		return fmt.Sprintf("key %q: a write without a fencing token to a fenced store; use a lock that issues tokens, or an unfenced store", r.Key)
	}
	return ""
}

// validPage refuses a piece of the ledger that nobody can mean.
func validPage(after int64, limit int) error {
	if after < 0 || limit < 1 || limit > MaxEntries {
		return fmt.Errorf("entries after %d, limit %d (1 to %d): %w", after, limit, MaxEntries, ErrBadRequest)
	}
	return nil
}

package record

import (
	"context"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/store"
)

// LedgerEvery is how often the store's ledger is taken over into the history while the run goes
// on, so that a judge can let go of what is settled, and a killed run keeps its ledger so far.
const LedgerEvery = 100 * time.Millisecond

// Source is where the ledger is read. mark is the stamp before which
// every request is among the entries so far.
type Source interface {
	Entries(ctx context.Context, after int64, limit int) (entries []store.Entry, mark int64, err error)
}

// ledger copies the store's ledger into the history.
type ledger struct {
	client Source
	rec    *history.Recorder
	keys   map[string]history.KeyID
	last   int64 // the sequence number of the last entry taken over
}

// NewLedger returns the ledger of a store, to be copied into a history with these keys.
func NewLedger(from Source, rec *history.Recorder, keys map[string]history.KeyID) *ledger {
	return &ledger{client: from, rec: rec, keys: keys}
}

// Follow takes the ledger over again and again until the context ends; that end is no error.
func (l *ledger) Follow(ctx context.Context) error {
	for clock.Pause(ctx, nil, LedgerEvery) {
		if err := l.Take(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// Take records every entry that is new, and the watermark.
func (l *ledger) Take(ctx context.Context) error {
	for {
		entries, mark, err := l.client.Entries(ctx, l.last, store.MaxEntries)
		if err != nil {
			return fmt.Errorf("read the store's ledger after entry %d: %w", l.last, err)
		}
		for i := range entries {
			if err := l.record(&entries[i]); err != nil {
				return err
			}
		}
		if len(entries) < store.MaxEntries {
			l.rec.Record(history.Event{Type: history.Watermark, Start: l.rec.Relative(mark)})
			return nil
		}
	}
}

func (l *ledger) record(e *store.Entry) error {
	if e.Seq != l.last+1 {
		return fmt.Errorf("the store's ledger goes from entry %d to %d: it must have no holes", l.last, e.Seq)
	}
	key, ok := l.keys[e.Key]
	if !ok {
		return fmt.Errorf("the store's ledger has an entry for key %q, which no client uses", e.Key)
	}
	l.last = e.Seq
	kind := history.Read
	if e.Write {
		kind = history.Write
	}
	l.rec.Record(history.Event{Type: history.Ledger, Kind: kind, Key: key, Seq: e.Seq, Op: e.Op, Grant: e.Grant,
		Client: e.Client,
		Token:  history.NonzeroToken(e.Token), Refused: e.Refused, Conflict: e.Conflict, Atomic: e.Atomic(), Version: e.Version,
		Replaced: e.Replaced, Value: e.Value, Time: l.rec.Relative(e.At)})
	return nil
}

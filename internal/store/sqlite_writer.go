package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// run is the writer.
func (s *SQLite) run() {
	defer close(s.done)
	batch := make([]*pending, 0, maxBatch)
	for {
		select {
		case p := <-s.queue:
			batch = s.drain(append(batch[:0], p))
			if s.broken == nil {
				s.broken = s.commit(batch)
			}
			for _, p := range batch {
				if s.broken != nil {
					// What memory decided may differ from the file now: nothing
					// after this could be trusted.
					p.entry, p.err = Entry{}, fmt.Errorf("the ledger could not be written: %w", s.broken)
				}
				close(p.done)
			}
		case <-s.stop:
			return
		}
	}
}

// drain adds what is already waiting.
func (s *SQLite) drain(batch []*pending) []*pending {
	for len(batch) < maxBatch {
		select {
		case p := <-s.queue:
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

// decide carries one request out in memory and numbers it. It reports whether
// there is an entry to keep.
func (s *SQLite) decide(p *pending) bool {
	r := s.keys[p.request.Key]
	if r == nil {
		r = new(register)
		s.keys[p.request.Key] = r
	}
	p.entry = Entry{Request: p.request, Seq: s.seq + 1, Write: p.write, At: monotime.Now()}
	if p.err = r.decide(&p.entry, s.fencing); p.err != nil {
		p.entry = Entry{}
		return false
	}
	s.seq++
	p.err = p.entry.outcome()
	return true
}

// commit decides a batch and puts it into the file, in one transaction.
func (s *SQLite) commit(batch []*pending) error {
	// local file; a half-cancelled commit would leave memory and file apart
	ctx := context.Background()
	kept := make([]*pending, 0, len(batch))
	for _, p := range batch {
		if s.decide(p) {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	// A single statement is a transaction of its own. The sizes are powers of
	// two, so that few statements are prepared.
	if size := largestPower(len(kept)); size == len(kept) {
		return s.append(ctx, kept)
	}
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for rest := kept; len(rest) > 0; {
		size := largestPower(len(rest))
		if err := s.append(ctx, rest[:size]); err != nil {
			_, undo := s.conn.ExecContext(ctx, "ROLLBACK")
			return errors.Join(err, undo)
		}
		rest = rest[size:]
	}
	_, err := s.conn.ExecContext(ctx, "COMMIT")
	return err
}

func largestPower(n int) int {
	p := 1
	for p*2 <= n {
		p *= 2
	}
	return p
}

// append inserts the entries of as many requests as a prepared statement takes.
func (s *SQLite) append(ctx context.Context, batch []*pending) error {
	stmt := s.insert[len(batch)]
	if stmt == nil {
		row := "(" + strings.Repeat("?,", columnCount-1) + "?)"
		text := "INSERT INTO ledger (" + columns + ") VALUES " + strings.Repeat(row+",", len(batch)-1) + row
		var err error
		if stmt, err = s.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
		s.insert[len(batch)] = stmt
	}
	args := make([]any, 0, columnCount*len(batch))
	for _, p := range batch {
		e := &p.entry
		args = append(args, e.Seq, e.At, e.Key, e.Op, e.Grant, e.Client, e.Token, e.Write, e.Refused, e.Conflict,
			e.Version, e.Value, e.Replaced, e.Fence, e.Mode, e.Base, e.Guard)
	}
	_, err := stmt.ExecContext(ctx, args...)
	return err
}

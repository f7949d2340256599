package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The isolation levels of transactions, as SQL names them.
const (
	ReadCommitted  = "read-committed"
	RepeatableRead = "repeatable-read"
	Serializable   = "serializable"
)

// Isolations lists the isolation levels, the weakest first.
func Isolations() []string { return []string{ReadCommitted, RepeatableRead, Serializable} }

// Session is one client's own connection to the engine's server, with at most one transaction at
// a time. Its writes enter the ledger when they are committed, and never if they are not. Its
// reads are no entries: what they return depends on the isolation level, and not on the ledger's
// order. It is used by one caller at a time.
//
// Writes of one ledger are either all in transactions or none.
type Session struct {
	remote *Remote
	line   sessionLine
	begun  bool
	writes []Entry
}

// sessionLine is the connection, as an engine keeps it.
type sessionLine interface {
	// begin begins a transaction.
	begin(ctx context.Context, isolation string) error
	// carryOut reads or writes within it, and completes the entry but for its number and stamp.
	// done is false where fence or version did not let it write.
	carryOut(ctx context.Context, e *Entry) (done bool, err error)
	// commit leaves the entries for collect, in the same transaction, and commits. rolledBack
	// reports that the server answered with an error, and so has committed nothing.
	commit(ctx context.Context, entries []Entry) (rolledBack bool, err error)
	// rollback ends the transaction, if need be with its connection.
	rollback()
	close() error
}

// transactor is a keeper whose server has transactions.
type transactor interface {
	session(ctx context.Context) (sessionLine, error)
	// collect moves what committed transactions have left into the ledger, in an order in which
	// a key's versions rise, and returns the number of the last entry.
	collect(ctx context.Context) (last int64, err error)
}

// TransactionEngines lists the engines that have transactions.
func TransactionEngines() (names []string) {
	for _, e := range engines {
		if e.transactions {
			names = append(names, e.name)
		}
	}
	return names
}

// transactional is a Ledger that has transactions: Remote, and not SQLite.
type transactional interface {
	Session(ctx context.Context) (*Session, error)
}

// Session opens a connection of a client's own.
func (s *Remote) Session(ctx context.Context) (*Session, error) {
	k, ok := s.keeper.(transactor)
	if !ok {
		return nil, fmt.Errorf("the store's engine (%s) has no transactions for clients; %s have them: %w",
			s.keeper.Version(), strings.Join(TransactionEngines(), " and "), ErrBadRequest)
	}
	line, err := k.session(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a connection for transactions: %w: %w", because(ctx, err), ErrNotSent)
	}
	return &Session{remote: s, line: line}, nil
}

// Do reads or writes in the session's transaction, and begins one if there is none. After an error
// the transaction is over, with nothing done. A write that the fence refuses is an entry.
func (s *Session) Do(ctx context.Context, r Request, write bool, isolation string) (Entry, error) {
	if err := r.Validate(write, s.remote.fencing); err != nil {
		return Entry{}, err
	}
	if !slices.Contains(Isolations(), isolation) || r.Guard != "" {
		return Entry{}, fmt.Errorf("isolation %q, guard %q: want one of %s, and no guard: %w", isolation, r.Guard,
			strings.Join(Isolations(), ", "), ErrBadRequest)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*answerLimit, fmt.Errorf("no answer within %v", 2*answerLimit))
	defer cancel()
	if !s.begun {
		if err := s.line.begin(ctx, isolation); err != nil {
			return Entry{}, s.aborted(ctx, err)
		}
		s.begun = true
	}
	e := Entry{Request: r, Write: write}
	switch done, err := s.line.carryOut(ctx, &e); {
	case errors.Is(err, ErrBadRequest):
		s.Rollback()
		return Entry{}, err
	case err != nil:
		return Entry{}, s.aborted(ctx, err)
	case !done:
		return s.refused(ctx, r)
	}
	if write {
		s.writes = append(s.writes, e)
	}
	return e, nil
}

// refused enters a write that fence or version did not let pass. Both only rise, so outside of the
// transaction it is refused as well.
func (s *Session) refused(ctx context.Context, r Request) (Entry, error) {
	s.Rollback()
	e, err := s.remote.Do(ctx, r, true)
	if err == nil {
		err = fmt.Errorf("write to %q: refused in the transaction, and carried out behind it", r.Key)
	}
	return e, err
}

// aborted ends the transaction after an error. Its commit was not sent, so nothing of it stands.
func (s *Session) aborted(ctx context.Context, err error) error {
	s.Rollback()
	return fmt.Errorf("%w: %w", ErrAborted, because(ctx, err))
}

// Commit commits, and returns when the writes are in the ledger. With ErrAborted nothing of
// the transaction stands.
func (s *Session) Commit(ctx context.Context) error {
	if !s.begun {
		return fmt.Errorf("no transaction is open on this connection: %w", ErrAborted)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, fmt.Errorf("no answer within %v", answerLimit))
	defer cancel()
	writes := s.writes
	s.begun, s.writes = false, nil
	at := s.remote.now()
	for i := range writes {
		writes[i].At = at
	}
	rolledBack, err := s.line.commit(ctx, writes)
	switch {
	case rolledBack:
		s.line.rollback()
		return fmt.Errorf("%w: %w", ErrAborted, err)
	case err != nil:
		s.line.rollback()
		s.remote.forsake(fmt.Errorf("a commit was not answered: %w", because(ctx, err)))
		return s.remote.lost()
	}
	return s.remote.collect(ctx)
}

// Rollback gives the transaction up, if there is one.
func (s *Session) Rollback() {
	if s.begun {
		s.begun, s.writes = false, nil
		s.line.rollback()
	}
}

// Close gives the connection up, with its transaction.
func (s *Session) Close() error {
	s.Rollback()
	return s.line.close()
}

// collect has the ledger take what was committed.
func (s *Remote) collect(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if err := s.settle(ctx); err != nil {
		return err
	}
	last, err := s.keeper.(transactor).collect(ctx)
	if err != nil {
		s.broken = fmt.Errorf("what was committed did not enter it: %w", because(ctx, err))
		s.open.Store(true)
		return s.lost()
	}
	s.last = last
	return nil
}

// forsake ends the store: nobody knows what its ledger should have.
func (s *Remote) forsake(why error) {
	s.turn <- struct{}{} // every request ends in time
	defer s.give()
	s.broken = why
	s.open.Store(true)
}

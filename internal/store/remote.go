package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Remote is the engine whose decisions another server makes and keeps. Each request is one
// transaction there (one statement, one script, one conditional PUT), sent once.
//
// Requests are sent one after the other, so that their stamps rise as their numbers
// do. When one is not answered, it may still be on its way: then nothing is sent,
// and no part of the ledger given out, until the server has been told to carry
// nothing out that was sent before (a new epoch). So a request that was lost can't
// turn up in the ledger behind what a reader has seen, nor behind its watermark.
type Remote struct {
	keeper  keeper
	fencing Fencing
	turn    chan struct{} // holds one value while a request is on its way
	open    atomic.Bool   // a request before may still be carried out
	last    int64         // the number of the last entry
	broken  error
	now     func() int64
}

// keeper is one kind of server.
type keeper interface {
	// claim begins an epoch: when it returns nil, no request of an earlier one
	// will be carried out any more. It returns the number of the last entry.
	claim(ctx context.Context) (last int64, err error)
	// carryOut sends one request, once, decides it as register.decide does, appends its entry and
	// completes it. An entry's stamp is that given, or that of the entry before if it is greater.
	// The error is ErrBadRequest, wrapped, with no effect, or leaves open what happened.
	carryOut(ctx context.Context, e *Entry) error
	// entries returns a piece of the ledger. It may be called at any time.
	entries(ctx context.Context, after int64, limit int) ([]Entry, error)
	// Version names the engine and its server's version.
	Version() string
	// Close gives the connections up.
	Close() error
}

// answerLimit bounds how long a server may take to answer one question.
const answerLimit = 3 * time.Second

// errEpoch: the server found that the request was of an earlier epoch. Somebody
// else opened the same ledger, or the server forgot it.
var errEpoch = errors.New("the server knows of another epoch: the ledger was opened by another process, or lost")

// newRemote opens the ledger on the server.
func newRemote(ctx context.Context, s keeper, f Fencing) (*Remote, error) {
	r := &Remote{keeper: s, fencing: f, turn: make(chan struct{}, 1), now: monotime.Now}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var err error
	if r.last, err = s.claim(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return r, nil
}

// Version names the engine and its server's version.
func (s *Remote) Version() string { return s.keeper.Version() }

// Fencing returns the kind of store that this is.
func (s *Remote) Fencing() Fencing { return s.fencing }

// Do carries a request out; see Ledger.
func (s *Remote) Do(ctx context.Context, r Request, write bool) (Entry, error) {
	if err := r.Validate(write, s.fencing); err != nil {
		return Entry{}, err
	}
	if err := s.take(ctx); err != nil {
		return Entry{}, err
	}
	defer s.give()
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, fmt.Errorf("no answer within %v", answerLimit))
	defer cancel()
	if err := s.settle(ctx); err != nil {
		return Entry{}, err
	}
	e := Entry{Request: r, Write: write, At: s.now()}
	switch err := s.keeper.carryOut(ctx, &e); {
	case errors.Is(err, ErrBadRequest):
		return Entry{}, err
	case err != nil:
		s.open.Store(true)
		return Entry{}, fmt.Errorf("%s of %q: the store's engine did not answer, it may have been carried out: %w",
			callName(write), r.Key, because(ctx, err))
	case e.Seq != s.last+1:
		s.broken = fmt.Errorf("its ledger went from entry %d to %d", s.last, e.Seq)
		s.open.Store(true)
		return Entry{}, s.lost()
	}
	s.last = e.Seq
	return e, e.outcome()
}

// settle sees to it that nothing sent before can take effect any more, if that is open.
func (s *Remote) settle(ctx context.Context) error {
	if !s.open.Load() {
		return nil
	}
	if s.broken != nil {
		return s.lost()
	}
	last, err := s.keeper.claim(ctx)
	if err != nil {
		return fmt.Errorf("an earlier request is open, and the store's engine does not answer: %w", because(ctx, err))
	}
	if last < s.last || last > s.last+1 { // at most the open one was carried out
		s.broken = fmt.Errorf("its ledger ends at entry %d, and ended at %d before", last, s.last)
		return s.lost()
	}
	s.last = last
	s.open.Store(false)
	return nil
}

// lost is the end of a store whose engine forgot or was written to by others:
// nothing after it could be trusted.
func (s *Remote) lost() error {
	return fmt.Errorf("the store's engine (%s) lost its ledger, or another process writes to it: %w",
		s.keeper.Version(), s.broken)
}

// Entries returns a piece of the ledger; see Ledger.
func (s *Remote) Entries(ctx context.Context, after int64, limit int) ([]Entry, error) {
	if err := validPage(after, limit); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, fmt.Errorf("no answer within %v", answerLimit))
	defer cancel()
	if s.open.Load() {
		if err := s.settleInTurn(ctx); err != nil {
			return nil, err
		}
	}
	entries, err := s.keeper.entries(ctx, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read the ledger after entry %d: %w", after, because(ctx, err))
	}
	return entries, nil
}

func (s *Remote) settleInTurn(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	return s.settle(ctx)
}

func (s *Remote) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		s.give()
		return context.Cause(ctx)
	}
	return nil
}

func (s *Remote) give() { <-s.turn }

// Close gives the connections up, once the request on its way is over.
func (s *Remote) Close() error {
	s.turn <- struct{}{} // every request ends in time
	defer s.give()
	if s.broken == nil {
		s.broken = errClosed
	}
	s.open.Store(true)
	return s.keeper.Close()
}

func callName(write bool) string {
	if write {
		return callWrite
	}
	return callRead
}

// because adds why the context ended to what the library says of it.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
